"""Public tables whose columns have a natural order: which way do the learned edges between levels point.

    python benchmarks/real_tables.py results.json FOLDER [--tables look report fresh third fourth record collected]
        [--methods auto evidence gaussian free GES DirectLiNGAM ...] [--resamples N]

``FOLDER`` holds one comma-separated file a table, NAME.csv, with the columns that `LEVELS` names (public teaching data:
UCI repository, R packages, Wooldridge's textbook). No edge can point from a later level to an earlier one: ages,
designs and what was fixed at birth come first, responses last. Of tables with more than 1000 rows 1000 are drawn.
The tables under "look" and "report" were looked at while methods were developed; of those under "fresh", and later of
those under "third" and "fourth", the levels were written down before anything was run on them. Both are of the
collection https://github.com/vincentarelbundock/Rdatasets, rows with gaps dropped, two labels as 0 and 1; for the
fourth ``FOLDER`` is its folder csv. The fourth list is what has an order among 190 tables drawn at random of all with
150 rows and three columns of numbers that are in no other list; responses of two values are in it. The list "record" is
of the same folder: 102 tables whose names are in no list before, chosen for a clear order in time or by design. It was
committed before anything was run on it, to judge the track record of arrows (`track_record.py`).
The list "collected" is for the same judgement, and from other sources: the public repositories named beside it, with
``FOLDER/OWNER/NAME.csv`` for the file of a repository that has this name, or the only one in a folder of this name. Its
rule: at least 100 rows and three columns, no table of a list before under whatever name, none that is known to be
simulated, and an order that nobody would dispute: age, sex and what was there at birth before schooling, before work
and income; design, geometry and weather before what they lead to; earlier before later; parts before their sum. It,
too, was committed before anything was run on it, from names and descriptions of columns. There blanks in names are
underscores, names that a file lacks are those of its description, times are seconds, units and marks of thousands are
left out, and other cells of a column of numbers that are no numbers are gaps.
Rivals are those of `paper_reproduction`, at the threshold of its tables; they see standardised columns in an order of
chance, for the order of the levels is what some of them find, and their edges without direction do not count.
Every fit is kept in the JSON file and not repeated. Prints for each table and method the edges between levels that
point forward and backward, those within a level, and the seconds of one core; with ``--resamples`` how many of them
have a direction that graphs from so many halves of the rows agree on, and how many have not.
"""

import argparse
import csv
import json
import time
import warnings
from pathlib import Path

import numpy as np

from icdh import HNMSearch, bootstrap
from icdh.files import LabelledTable, replace_on_success
from paper_reproduction.jobs import seed_of
from paper_reproduction.judging import THRESHOLD
from paper_reproduction.methods import estimate

MOST_ROWS = 1000
LEVELS = {
    "look": {
        "abalone": ["rings", "length diameter height", "whole shucked viscera shell"],
        "airfoil": ["Freq Angle Length Vel", "Displ", "Pressure"],
        "autompg": ["model displacement", "weight horsepower", "acceleration mpg"],
        "diabetes": ["age sex", "bmi bp s1 s2 s3 s4 s5 s6", "target"],
        "wine_red": [
            "fixed volatile citric sugar chlorides free_so2 total_so2 sulphates alcohol",
            "density ph",
            "quality",
        ],
    },
    "report": {
        "ais": ["sex", "ht", "wt lbm pcBfat ferr rcc hc hg"],
        "ames": ["Year_Built Lot_Area", "Gr_Liv_Area Garage_Area Total_Bsmt_SF", "Sale_Price"],
        "attend": ["ACT", "priGPA attend hwrte", "final"],
        "babies": ["parity age height smoke", "weight", "gestation", "bwt"],
        "bodyfat": ["Age", "Height", "Weight Neck Chest Abdomen Hip Thigh Knee Ankle Biceps Forearm Wrist"],
        "bwght": ["motheduc fatheduc", "faminc cigs", "bwghtlbs"],
        "concrete": [
            "cement blast_furnace_slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age",
            "compressive_strength",
        ],
        "energy": ["X1 X3 X4 X7", "Y1 Y2"],
        "galton": ["father mother sex", "childHeight"],
        "gpa2": ["hsize female", "sat hsperc", "colgpa"],
        "insurance": ["age male", "bmi children smokes", "expenses"],
        "nhefs": ["age", "school ht", "smokeintensity smokeyrs wt71", "wt82 sbp"],
        "nlschools": ["SES GS", "IQ", "lang"],
        "pima": ["age", "bmi skin glucose insulin bp"],
        "saratoga": ["age lotSize livingArea bedrooms rooms", "price"],
        "tenmile": ["age male", "net"],
        "vocab": ["age", "education", "wages"],
        "wage2": ["age feduc meduc sibs", "IQ educ", "exper tenure KWW", "wage"],
        "wine_white": [
            "fixed volatile citric sugar chlorides free_so2 total_so2 sulphates alcohol",
            "density ph",
            "quality",
        ],
    },
    "fresh": {
        "bdims": ["age sex", "hgt bia_di bii_di che_di kne_di ank_di", "wai_gi hip_gi thi_gi bic_gi wgt"],
        "bikes": ["yr temp hum windspeed", "cnt"],
        "bwght2": ["mage meduc fage feduc", "monpre npvis cigs drink", "bwght omaps fmaps"],
        "caschools": ["income english calworks lunch", "expenditure", "read math"],
        "corolla": ["Age_08_04 HP Weight", "KM", "Price"],
        "cps1985": ["age male", "education", "wage"],
        "diamonds": ["x y z", "carat", "price"],
        "econmath": ["male mothcoll fathcoll", "hsgpa acteng actmth", "colgpa", "score"],
        "flchain": ["age male", "creatinine kappa lambda"],
        "hprice3": ["cbd dist", "area rooms land baths age", "price"],
        "htv": ["motheduc fatheduc sibs", "abil educ", "wage"],
        "kids198": ["Age Sex", "Height", "Weight"],
        "ncbirths": ["MomAge Sex Smoke", "Weeks Gained", "BirthWeightGm"],
        "pines": ["Spacing Fert Hgt90", "Hgt96 Diam96 Grow96", "Hgt97 Diam97 Spread.97 Needles97"],
        "powerplant": ["Temp Press Humid", "Vac", "Output"],
        "psid": ["age black hisp", "educ", "re74", "re75", "re78"],
        "sheep": ["male", "birthwt", "weanwt weanage"],
        "windsor": ["lotsize", "bedrooms bathrooms stories garage", "price"],
    },
    "third": {
        "airquality": ["Month", "Solar.R Wind Temp", "Ozone"],
        "births": ["f_age m_age", "visits gained weeks", "weight"],
        "birthwt": ["age", "lwt smoke", "bwt"],
        "collegedistance": ["male distance unemp wage tuition", "score", "education"],
        "cpssw8": ["age male", "education", "earnings"],
        "davis": ["male", "height", "weight"],
        "doctorvisits": ["age male", "illness", "visits"],
        "firstyeargpa": ["Male", "HSGPA SATV SATM", "GPA"],
        "islrwage": ["year age", "education", "wage"],
        "melanoma": ["age sex", "thickness"],
        "mroz": ["age motheduc fatheduc", "educ", "exper", "hours"],
        "nafld": ["age male", "height", "weight"],
        "nmes": ["age male school", "chronic", "visits"],
        "pbc": ["age female", "bili chol albumin copper ast platelet protime"],
        "pimate": ["age", "npreg", "glu bp skin bmi"],
        "possum": ["age male", "head_l skull_w total_l tail_l"],
        "salaries": ["male yrs.since.phd", "yrs.service", "salary"],
        "sleep75": ["age male", "educ", "totwrk sleep"],
        "slid": ["age male", "education", "wages"],
        "teachingratings": ["age male", "beauty", "eval"],
        "threecars": ["Age", "Mileage", "Price"],
        "twoyear": ["female phsrank", "jc univ", "lwage"],
        "wage1": ["female nonwhite", "educ", "exper tenure", "wage"],
        "wong": ["age male", "duration", "piq viq"],
    },
    "fourth": {
        "openintro/hsb2": ["gender schtyp", "read write math science socst"],
        "openintro/census": ["age sex", "total_personal_income"],
        "stevedata/ESS9GB": ["agea female", "eduyrs", "hinctnta", "immigsent lrscale"],
        "modeldata/attrition": [
            "Age Gender",
            "TotalWorkingYears DistanceFromHome",
            "MonthlyIncome YearsAtCompany",
            "Attrition",
        ],
        "camerondata/vietnamlss": ["age sex", "educyr98", "lhhexp1"],
        "camerondata/laborpanelprec": ["ageh", "kids disab", "lnwg lnhr"],
        "openintro/lecture_learning": ["gender method", "mindwander", "memory"],
        "fpp2/elecdaily": ["WorkDay Temperature", "Demand"],
        "Ecdat/DoctorContacts": ["age sex black", "educdec linc", "ndisease physlim", "mdu"],
        "wooldridge/crime1": ["black hispan", "pcnv avgsen tottime", "narr86"],
        "ratdat/surveys": ["sex", "hindfoot_length weight"],
        "agridat/gumpertz.pepper": ["water leaf", "disease"],
        "mlmRev/ScotsSec": ["sex social", "verbal", "attain"],
        "plm/Gasoline": ["lincomep lrpmg", "lcarpcap", "lgaspcar"],
        "wooldridge/hprice2": ["crime nox rooms dist stratio lowstat", "price"],
        "openintro/get_it_dunn_run": ["age sex", "run_time_minutes"],
        "DAAG/frogs": ["altitude", "avrain meanmin meanmax", "pres.abs"],
        "plm/Males": ["school exper", "union married", "wage"],
        "carData/Wells": ["arsenic distance education", "switch"],
        "MLDataR/heartdisease": ["Age Sex", "RestingBP Cholesterol MaxHR HeartDisease"],
        "mediation/framing": ["age gender treat", "emo p_harm", "immigr"],
        "stevedata/anes_partytherms": ["age", "educat", "pid7", "therm_dem therm_gop"],
        "AER/PhDPublications": ["gender", "prestige mentor", "articles"],
        "AER/SwissLabor": ["age foreign", "education", "youngkids oldkids income", "participation"],
        "NeuroDataSets/migraine_treatment_df": ["age sex airq", "headache"],
        "Ecdat/Tobacco": ["age nkids nadults lnx", "stobacco salcohol"],
        "OncoDataSets/WBreastCancer_tbl_df": ["age", "er pr pathsd ln_yesno", "status"],
        "plm/Cigar": ["year cpi", "price ndi", "sales"],
        "modeldata/penguins": ["sex", "bill_length_mm bill_depth_mm flipper_length_mm body_mass_g"],
        "CardioDataSets/cardioRiskFactors_df": ["age sex", "smok alco bmi", "choles trig hdl ldl sys dia Uric"],
        "Stat2Data/FaithfulFaces": ["FaceSex", "SexDimorph", "Attract Trust Faithful"],
        "wooldridge/vote1": ["prtystrA", "expendA expendB", "voteA"],
        "causaldata/black_politicians": ["south blackpercent medianhhincom urbanpercent", "leg_black"],
        "stevedata/chile88": ["age sex", "income", "sq"],
        "Stat2Data/SuicideChina": ["Sex Age", "Hospitalised", "Died"],
        "asaur/ashkenazi": ["mutant age", "brcancer"],
        "OncoDataSets/BloodStorageProstate_df": ["Age AA FamHx", "PVol TVol", "PreopPSA", "Recurrence"],
        "reshape2/tips": ["size sex smoker", "total_bill", "tip"],
        "MASS/Traffic": ["limit", "y"],
        "plm/Wages": ["sex black", "ed", "bluecol union exp", "lwage"],
        "wooldridge/card": ["age black fatheduc motheduc", "KWW IQ educ", "wage"],
        "mlmRev/Gcsemv": ["gender", "written course"],
        "openintro/satgpa": ["sex", "sat_v sat_m hs_gpa", "fy_gpa"],
        "KMsurv/pneumon": ["mthage", "education poverty", "smoke alcohol", "bweight"],
        "geepack/respiratory": ["treat age sex", "baseline", "outcome"],
        "tsibbledata/olympic_running": ["Year Length Sex", "Time"],
        "Stat2Data/Diamonds2": ["Carat Depth", "TotalPrice"],
        "Ecdat/Benefits": ["age nwhite sex", "school12 married", "tenure", "ui"],
        "wooldridge/fringe": ["age male white", "educ", "exper tenure union", "hrearn"],
        "Stat2Data/Blood1": ["Smoke Overwt", "SystolicBP"],
        "Stat2Data/LosingSleep": ["Age", "Outcome"],
        "Ecdat/Clothing": ["ssize inv1 inv2", "nfull npart hoursw", "tsales"],
        "COUNT/azpro": ["sex age75", "procedure admit", "los"],
        "COUNT/azdrg112": ["gender age75 type1", "los"],
        "causaldata/close_elections_lmb": ["lagdemvoteshare", "demvoteshare", "score"],
        "stevedata/CFT15": ["margin", "vote"],
        "agridat/beall.webworms": ["spray lead", "y"],
        "Stat2Data/Goldenrod": ["Gdiam03 Stdiam03", "Gdiam04 Stdiam04 Wall04", "Fly04"],
        "lme4/sleepstudy": ["Days", "Reaction"],
        "geepack/sitka89": ["time treat", "size"],
        "agridat/byers.apple": ["time", "diameter"],
        "nlme/Fatigue": ["cycles", "relLength"],
        "Stat2Data/CO2SouthPole": ["Year Month", "CO2"],
        "Ecdat/Nerlove": ["output pl pk pf", "cost"],
        "Ecdat/Doctor": ["children access health", "doctor"],
        "sem/HS.data": ["Gender grade", "visual cubes paper flags general paragrap sentence"],
        "AER/EquationCitations": ["pages equations", "cites"],
        "plm/Produc": ["pcap pc emp", "gsp"],
        "crimedatasets/Fatality_df": ["beertax unrate perinc vmiles", "mrall"],
        "wooldridge/benefits": ["lunch enroll", "avgsal staff exppp", "math4"],
        "geepack/koch": ["trt day", "y"],
    },
    "record": {
        "AER/Affairs": ["age gender", "education", "yearsmarried children", "rating affairs"],
        "AER/CreditCard": ["age", "income dependents reports", "card expenditure"],
        "AER/RecreationDemand": ["income costC costS costH", "trips"],
        "AER/MASchools": ["income english lunch", "exptot salary stratio", "score4"],
        "Stat2Data/Pulse": ["Sex", "Hgt", "Wgt Smoke Exercise", "Rest", "Active"],
        "Stat2Data/MathPlacement": ["Gender", "PSATM", "SATM ACTM", "PlcmtScore"],
        "Stat2Data/GrinnellHouses": ["YearBuilt LotSize", "SquareFeet Bedrooms Baths", "ListPrice", "SalePrice"],
        "Stat2Data/ICU": ["Age Sex", "SysBP Pulse Infection", "Survive"],
        "Stat2Data/Fertility": ["Age", "MeanAFC FSH E2", "TotalGn MaxE2", "Oocytes", "Embryos"],
        "Stat2Data/Caterpillars": ["Instar", "Mass", "Intake", "WetFrass"],
        "Stat2Data/FlightResponse": ["Altitude Lateral", "Flight"],
        "Stat2Data/LeafWidth": ["Year", "Width Length"],
        "survival/cancer": ["age sex", "ph.karno meal.cal wt.loss"],
        "survival/gbsg": ["age", "meno", "size nodes pgr er", "rfstime"],
        "survival/mgus2": ["age sex dxyr", "hgb creat mspike", "futime"],
        "survival/rotterdam": ["age year", "meno", "nodes pgr er", "dtime"],
        "psych/sat.act": ["age gender", "education ACT SATV SATQ"],
        "texmex/liver": ["ALP.B ALT.B AST.B TBL.B", "ALP.M ALT.M AST.M TBL.M"],
        "quantreg/uis": ["AGE RACE", "NDT", "BECK", "TREAT LEN.T", "TIME"],
        "wooldridge/beauty": ["female black", "educ", "exper looks union", "wage"],
        "wooldridge/catholic": ["female motheduc fatheduc", "lfaminc", "read12 math12", "hsgrad"],
        "wooldridge/ceosal2": ["age", "grad", "comten sales mktval", "salary"],
        "wooldridge/fertil2": ["age", "educ", "radio usemeth children"],
        "wooldridge/gpa3": ["female hssize", "hsperc", "sat", "trmgpa"],
        "wooldridge/k401ksubs": ["age male", "fsize marr", "inc", "nettfa p401k pira"],
        "wooldridge/lawsch85": ["LSAT GPA faculty cost", "salary"],
        "wooldridge/loanapp": ["male", "married dep", "appinc", "loanamt", "approve"],
        "wooldridge/meap93": ["lnchprg enroll", "expend staff salary", "math10 sci11 droprate gradrate"],
        "wooldridge/mlb1": ["years", "games", "hits hruns rbis bavg", "salary"],
        "wooldridge/nbasal": ["age", "coll", "exper", "avgmin", "points rebounds assists", "wage"],
        "wooldridge/recid": ["black educ", "priors", "tserved rules", "durat"],
        "wooldridge/voucher": ["black female", "mnce90", "selectyrs", "mnce"],
        "wooldridge/alcohol": ["age mothalc fathalc", "educ", "married famsize abuse employ"],
        "wooldridge/pension": ["age female black", "educ", "wealth89 pyears", "pctstck"],
        "wooldridge/charity": ["giftlast avggift weekslast mailsyear propresp", "respond gift"],
        "pscl/UKHouseOfCommons": ["y1lag y2lag", "coninc labinc libinc", "y1 y2"],
        "stevedata/Dee04": ["female black hispanic", "distance", "college", "register"],
        "stevedata/voteincome": ["age female", "education", "income", "vote"],
        "stevedata/ESSBE5": ["agea female", "eduyrs", "hincfel", "trstplc plcpvcr"],
        "stevedata/nesarc_drinkspd": ["age sex", "educ", "s2aq8b"],
        "sampleSelection/Smoke": ["age cigpric restaurn", "educ", "income", "cigs"],
        "plm/RiceFarms": ["size", "seed urea phosphate hiredlabor famlabor", "goutput"],
        "vcdExtra/CrabSatellites": ["width weight", "satellites"],
        "vcdExtra/Titanicp": ["age sex", "sibsp parch", "survived"],
        "reshape2/french_fries": ["time", "potato rancid painty"],
        "medicaldata/licorice_gargle": [
            "preOp_age preOp_gender treat",
            "preOp_calcBMI",
            "extubation_cough pacu30min_throatPain",
            "postOp4hour_throatPain",
            "pod1am_throatPain",
        ],
        "mediation/jobs": ["age sex treat", "econ_hard depress1", "job_seek", "depress2"],
        "mi/nlsyV": ["momage", "momed b.marr first", "income", "ppvtr.36"],
        "MASS/survey": ["Sex Age", "Height Wr.Hnd NW.Hnd Pulse"],
        "MASS/crabs": ["sp sex", "FL RW CL CW BD"],
        "MASS/cpus": ["syct mmin mmax cach chmin chmax", "perf"],
        "MASS/OME": ["Age Loud Noise", "Correct"],
        "openintro/exam_grades": ["sex", "exam1", "exam2", "exam3", "course_grade"],
        "openintro/epa2012": ["engine_displacement no_cylinders", "city_mpg hwy_mpg"],
        "openintro/yrbss": ["age gender", "height", "weight"],
        "openintro/LAhomes": ["bed bath sqft", "price"],
        "modeldata/Sacramento": ["latitude longitude", "beds baths sqft", "price"],
        "modeldata/car_prices": ["Cylinder Doors", "Mileage", "Price"],
        "modeldata/credit_data": ["Age", "Seniority", "Income", "Amount", "Status"],
        "NeuroDataSets/OASIS_cross_tbl_df": ["Age M/F", "Educ", "nWBV MMSE"],
        "NeuroDataSets/acupuncture_df": ["group pk1", "pk5"],
        "NeuroDataSets/psych_neurocog_df": ["Age Sex", "Speed Attention Memory Verbal Visual"],
        "MLDataR/stroke_classification": ["age gender", "hypertension heart_disease avg_glucose_level bmi", "stroke"],
        "MLDataR/PreDiabetes": ["Age_PreDiabetes Sex IMD_Decile", "BMI HbA1C", "Time_Pre_To_Diabetes"],
        "mlmRev/Exam": ["sex", "standLRT", "normexam"],
        "mlmRev/Chem97": ["age gender", "gcsescore", "score"],
        "lme4/grouseticks": ["HEIGHT YEAR", "TICKS"],
        "lme4/Arabidopsis": ["nutrient amd", "total.fruits"],
        "lme4/schizophrenia": ["TxDrug Week", "imps79"],
        "mosaicData/HELPrct": ["age sex", "i1 cesd mcs pcs", "daysanysub"],
        "experimentr/frijters": ["Roommate_BMI Past_BMI", "Current_BMI"],
        "experimentr/murrar": ["condition white_t0 arab_t0", "white_t1 arab_t1", "arab_t2"],
        "bayesrules/big_word_club": ["age_months female treat", "score_a1", "score_a2"],
        "bayesrules/climbers_sub": ["age sex height_metres", "oxygen_used", "success"],
        "bayesrules/airbnb": ["walk_score transit_score accommodates bedrooms", "price"],
        "bayesrules/weather_perth": [
            "temp9am humidity9am pressure9am windspeed9am",
            "temp3pm humidity3pm pressure3pm windspeed3pm",
        ],
        "CardioDataSets/cardiac_failure_df": [
            "age sex",
            "serum_creatinine ejection_fraction serum_sodium creatinine_phosphokinase platelets",
            "DEATH_EVENT",
        ],
        "CardioDataSets/acs_patients_df": ["age sex", "height", "weight", "TC LDLC HDLC TG EF"],
        "CardioDataSets/mriCardioVars_tbl_df": ["age sex", "height", "weight packyrs", "ldl sbp crt fev dsst atrophy"],
        "carData/BEPS": ["age gender", "economic.cond.national Blair Hague Europe political.knowledge"],
        "carData/Rossi": ["age race", "educ", "prio wexp", "week arrest"],
        "causaldata/social_insure": ["age male", "literacy", "agpop ricearea_2010", "takeup_survey"],
        "causaldata/thornton_hiv": ["age distvct tinc hiv2004", "got"],
        "COUNT/mdvis": ["age", "educ", "loginc", "badh", "numvisit"],
        "COUNT/rwm1984": ["age female", "educ", "hhninc outwork", "docvis hospvis"],
        "DAAG/leafshape": ["latitude", "bladelen petiole bladewid"],
        "DAAG/nassCDS": ["ageOFocc sex yearVeh", "airbag seatbelt", "injSeverity dead"],
        "DAAG/tinting": ["age sex target", "it csoa"],
        "datasets/attenu": ["mag dist", "accel"],
        "datasets/quakes": ["lat long", "depth", "mag", "stations"],
        "datasets/infert": ["age", "parity induced spontaneous", "case"],
        "datasets/Seatbelts": ["law PetrolPrice kms", "drivers front rear VanKilled"],
        "Ecdat/Computers": ["trend", "speed hd ram screen", "price"],
        "Ecdat/Workinghours": ["age nonwhite", "education", "child5 child13 child17 income", "hours"],
        "Ecdat/Wages1": ["sex", "school", "exper", "wage"],
        "Ecdat/UnempDur": ["age", "tenure logwage", "spell"],
        "Ecdat/Labour": ["capital labour wage", "output"],
        "camerondata/patentsrd": ["logr70 pat70", "logr75 pat75", "logr79 pat79"],
        "np/Engel95": ["nkids logwages", "logexp", "food alcohol fuel leisure"],
        "np/oecdpanel": ["year initgdp", "popgro inv humancap", "growth"],
        "OncoDataSets/SuspectedCancer_df": ["age", "haemoglobin albumin bilirubin calcium whitebloodcell"],
        "OncoDataSets/LungNodulesDetected_df": ["age sex", "diameter num.annotated", "malignant"],
    },
    "collected": {
        # https://github.com/jbrownlee/Datasets
        "jbrownlee/haberman": ["age year", "nodes", "status"],
        "jbrownlee/pollution": ["month hour", "DEWP TEMP PRES Iws", "pm2.5"],
        "jbrownlee/horse-colic": ["age", "temperature pulse respiratory_rate packed_cell_volume protein", "outcome"],
        # https://github.com/selva86/datasets
        "selva86/GermanCredit": ["age", "duration amount", "credit_risk"],
        "selva86/Life_Expectancy_Data": ["Year", "Schooling GDP Total_expenditure Life_expectancy"],
        "selva86/MarketArrivals": ["year", "quantity priceMod"],
        "selva86/ozone": [
            "Month",
            "pressure_height Wind_speed Humidity Temperature_Sandburg Inversion_base_height",
            "ozone_reading Visibility",
        ],
        # https://github.com/statsmodels/statsmodels
        "statsmodels/anes96": ["age", "educ", "income", "TVnews selfLR PID", "vote"],
        "statsmodels/fair": ["age", "educ", "yrs_married children", "rate_marriage", "affairs"],
        "statsmodels/randhie": ["lncoins idp physlm disea", "mdvis"],
        "statsmodels/star98": ["LOWINC PERASIAN PERBLACK PERHISP", "AVYRSEXP AVSAL PERPSPEN PTRATIO", "MATH READ"],
        # https://github.com/cmu-phil/example-causal-datasets
        "cmu-phil/algerian-forest-fires": ["month", "Temperature RH Ws Rain", "FFMC DMC DC", "ISI", "Fire"],
        "cmu-phil/apple-watch-fitbit": ["age gender", "height", "weight", "steps", "heart_rate calories"],
        "cmu-phil/contraceptive-method": ["wife-age", "wife-educ husb-educ", "sol-index num-child"],
        "cmu-phil/covertype": ["Elevation Aspect Slope", "Shade9 Shade12 Shade3"],
        "cmu-phil/seoul-bike": [
            "Hour",
            "Temperature Humidity WindSpeed Visibility SolarRadiation Rainfall",
            "RentedBikeCount",
        ],
        "cmu-phil/yacht-hydrodynamics": ["cent-boy prismatic len-disp beam-draught len-beam froude", "res-resist"],
        "cmu-phil/residential-building": ["V-2 V-3", "V-4", "V-9 V-10"],
        "cmu-phil/college-plans": ["sex ses", "iq", "pe", "cp"],
        # https://github.com/ageron/handson-ml2
        "ageron/housing": ["longitude latitude housing_median_age", "median_income", "median_house_value"],
        # https://github.com/mwaskom/seaborn-data
        "mwaskom/taxis": ["passengers distance", "fare tolls", "tip", "total"],
        "mwaskom/healthexp": ["Year", "Spending_USD Life_Expectancy"],
        "mwaskom/fmri": ["timepoint event region", "signal"],
        "mwaskom/dots": ["time coherence", "firing_rate"],
        # https://github.com/vega/vega-datasets
        "vega/birdstrikes": ["Speed_IAS_in_knots", "Cost_Other Cost_Repair", "Cost_Total_$"],
        # https://github.com/gagolews/teaching-data
        "gagolews/nhanes_p_demo_bmx_2020": ["RIAGENDR RIDAGEYR", "BMXHT", "BMXWT BMXWAIST BMXARMC"],
        "gagolews/skill": ["Age", "HoursPerWeek TotalHours", "APM ActionLatency WorkersMade", "response"],
        # https://github.com/stedy/Machine-Learning-with-R-datasets
        "stedy/usedcars": ["year transmission", "mileage", "price"],
        "stedy/snsdata": ["gradyear gender", "friends basketball football shopping"],
        # https://github.com/fivethirtyeight/data
        "fivethirtyeight/august_senate_polls": ["cycle", "DEM_poll REP_poll", "DEM_result REP_result"],
        "fivethirtyeight/bechdel": ["year", "binary budget_2013$", "domgross_2013$", "intgross_2013$"],
        "fivethirtyeight/US_births_1994-2003": ["year month date_of_month day_of_week", "births"],
        "fivethirtyeight/early-senate-polls": ["year", "presidential_approval poll_average", "election_result"],
        "fivethirtyeight/endorsements-june-30": ["year", "percentage_endorsement_points", "primary_vote_percentage"],
        "fivethirtyeight/historical-senate-predictions": ["year", "forecast_prob", "winflag"],
        "fivethirtyeight/ncaa-womens-basketball": ["Year", "Reg._W Reg._L", "Seed", "Tourney_W"],
        "fivethirtyeight/special-elections": [
            "Median_Household_Income %_Bachelor's_Degree_or_Higher",
            "Clinton_Margin_Improvement_Over_Obama",
            "2017-2018_Dem_Margin_Improvement_Over_Partisan_Lean",
        ],
        "fivethirtyeight/Kentucky_turnout_2023": ["2011_votes", "2015_votes", "2019_votes", "2023_votes"],
        "fivethirtyeight/Virginia_turnout_2023": [
            "2011_cvap_turnout",
            "2013_cvap_turnout",
            "2015_cvap_turnout",
            "2017_cvap_turnout",
            "2019_cvap_turnout",
            "2021_cvap_turnout",
            "2023_cvap_turnout",
        ],
        "fivethirtyeight/elo_blatter": ["elo98", "gdp06 popu06", "elo15"],
        "fivethirtyeight/congress-terms": ["congress", "age incumbent"],
        "fivethirtyeight/historical_RAPTOR_by_player": ["season", "poss raptor_offense raptor_defense", "war_total"],
        # https://github.com/plotly/datasets
        "plotly/imports-85": [
            "wheel-base width height bore stroke compression-ratio",
            "curb-weight horsepower",
            "city-mpg",
            "price",
        ],
        "plotly/medicare": ["Average_Covered_Charges", "Average_Total_Payments", "Reimbursement_Rate"],
        "plotly/salaries-ai-jobs-net": ["work_year", "remote_ratio salary_in_usd"],
        "plotly/nhl_draft_2013": ["Height", "Weight", "Overall"],
        "plotly/olympic-winners": ["age year", "gold silver bronze", "total"],
        "plotly/spinrates": ["velocity spinrate", "swing_miss"],
        "plotly/gapminderDataFiveYear": ["year", "pop lifeExp gdpPercap"],
        # https://github.com/avehtari/ROS-Examples
        "avehtari/student-por": ["sex Medu Fedu", "age failures", "G1", "G2", "G3"],
        "avehtari/earnings": ["male age mother_education father_education", "height education", "weight earn"],
        "avehtari/chile": ["read88 math88", "p90", "read92 math92"],
        "avehtari/congress": ["v86", "inc88", "v88", "inc90", "v90"],
        "avehtari/electric": ["grade", "pre_test", "treatment", "post_test"],
        "avehtari/sesame": ["sex age", "prebody prelet prenumb", "encour", "viewcat", "postbody postlet postnumb"],
        "avehtari/SIS": ["male over65 white", "educ_r", "workmos workhrs_top", "earnings"],
        "avehtari/risky": ["sex", "bs_hiv bupacts", "couples women_alone", "fupacts"],
        "avehtari/roaches": ["senior", "roach1", "treatment", "y"],
        "avehtari/white_nonhisp_death_rates": ["Age Male Year", "Population", "Deaths", "Rate"],
        "avehtari/apt": ["poor floor", "defects", "y"],
        "avehtari/naes04": ["age gender", "gayKnowSomeone", "gayFavorFederalMarriage"],
        # https://github.com/rmcelreath/rethinking
        "rmcelreath/AMTL_short": ["prob_male age_at_death", "num_amtl"],
        "rmcelreath/Achehunting": ["year age", "kg.meat"],
        "rmcelreath/Hoogland": ["Year Male", "Sisters Bros ClanSize", "NoDisperse"],
        "rmcelreath/Howell1": ["age male", "height", "weight"],
        "rmcelreath/Trolley": ["male age", "action intention contact", "response"],
        "rmcelreath/bangladesh": ["age.centered urban", "living.children", "use.contraception"],
        "rmcelreath/cherry_blossoms": ["year", "temp", "doy"],
        "rmcelreath/foxes": ["area", "avgfood", "groupsize", "weight"],
        "rmcelreath/rugged": ["rugged lat soil dist_coast", "rgdppc_2000"],
        "rmcelreath/Wines2012": ["flight wine.amer judge.amer", "score"],
        "rmcelreath/willowtitn": ["elev", "percforest", "n"],
        "rmcelreath/UFClefties": ["fighter1.lefty fighter2.lefty", "fighter1.win"],
        "rmcelreath/Moralizing_gods": ["year", "population writing"],
        "rmcelreath/chimpanzees": ["condition prosoc_left trial", "pulled_left"],
        # https://github.com/stan-dev/example-models
        "stan-dev/mn_radon": ["floor log_uranium", "log_radon"],
        "stan-dev/CD4": ["treatmnt baseage", "visage", "CD4CNT CD4PCT"],
        # https://github.com/YBI-Foundation/Dataset
        "YBI-Foundation/AdultIncome": ["age sex", "education-num", "hours-per-week", "salary"],
        "YBI-Foundation/Airline_Delay": ["arr_flights", "arr_del15", "arr_delay"],
        "YBI-Foundation/Bike_Prices": ["Year Ex_Showroom_Price", "KM_Driven", "Selling_Price"],
        "YBI-Foundation/Car_Depriciation": ["Year Initial_Price", "KM_Driven", "Selling_Price"],
        "YBI-Foundation/Car_Selling_Price": ["Year Engine Seats", "Max_Power Mileage", "KM_Driven", "Selling_Price"],
        "YBI-Foundation/Fish": ["Length1 Height Width", "Weight"],
        "YBI-Foundation/FuelEfficiency": ["Eng_Displ Cylinders #_Gears", "CityMPG HwyMPG", "CombMPG"],
        "YBI-Foundation/Home_Equity_Data": ["VALUE MORTDUE DEROG DELINQ CLAGE", "LOAN", "Default"],
        "YBI-Foundation/House_Prices": [
            "Yr_built Sqft_lot Lat",
            "Sqft_living Bathrooms Bedrooms Floors",
            "Grade",
            "Price",
        ],
        "YBI-Foundation/Mammographic_Masses": ["Age", "Shape Margin Severity"],
        "YBI-Foundation/Melbourne_Housing_Market": [
            "Distance YearBuilt Landsize",
            "Rooms Bathroom Car BuildingArea",
            "Price",
        ],
        "YBI-Foundation/School_Ratings": [
            "size reduced_lunch percent_black percent_hispanic",
            "stu_teach_ratio",
            "avg_score_15",
            "avg_score_16",
            "school_rating",
        ],
        "YBI-Foundation/NBA": ["Age", "Weight Salary"],
        # https://github.com/amankharwal/Website-data
        "amankharwal/BRCA": ["Age", "Protein1 Protein2 Protein3 Protein4", "Patient_Status"],
        "amankharwal/dailyActivity_merged": [
            "SedentaryMinutes LightlyActiveMinutes VeryActiveMinutes TotalSteps",
            "TotalDistance",
            "Calories",
        ],
        "amankharwal/electricity": [
            "Month PeriodOfDay HolidayFlag",
            "ORKTemperature ORKWindspeed",
            "ActualWindProduction SystemLoadEP2",
            "SMPEP2",
        ],
        "amankharwal/marketing_campaign": ["Year_Birth", "Income", "MntWines MntFruits MntMeatProducts", "Response"],
        "amankharwal/summer-products": ["retail_price", "price", "units_sold", "rating_count"],
        "amankharwal/vgsales": ["Year", "NA_Sales EU_Sales JP_Sales Other_Sales", "Global_Sales"],
        "amankharwal/Virat_Kohli": ["Pos Inns", "BF 4s 6s", "Runs", "SR"],
        "amankharwal/credit": ["CASH_ADVANCE ONEOFF_PURCHASES INSTALLMENTS_PURCHASES", "PURCHASES", "PAYMENTS"],
        # https://github.com/Premalatha-success/Datasets
        "Premalatha-success/Absenteeism_at_work": [
            "Age Height Education Son",
            "Weight Service_time",
            "Body_mass_index",
            "Absenteeism_time_in_hours",
        ],
        "Premalatha-success/Solar": [
            "WindSpeed Sunshine AirPressure Radiation AirTemperature RelativeAirHumidity",
            "SystemProduction",
        ],
        "Premalatha-success/xAPI-Edu-Data": [
            "gender Semester",
            "raisedhands VisITedResources AnnouncementsView Discussion StudentAbsenceDays",
        ],
        "Premalatha-success/h1n1_vaccine_prediction": [
            "is_health_worker chronic_medic_condition",
            "dr_recc_h1n1_vacc dr_recc_seasonal_vacc",
            "h1n1_vaccine",
        ],
        # https://github.com/dphi-official/Datasets
        "dphi-official/Bengaluru_House_Data": ["total_sqft", "bath balcony", "price"],
        "dphi-official/IT_Salary_Survey_2018": [
            "Gender Age",
            "Years_of_experience",
            "Salary_two_years_ago",
            "Salary_one_year_ago",
            "Current_Salary",
        ],
        "dphi-official/air": ["T RH AH", "CO(GT) C6H6(GT) NOx(GT)", "PT08.S1(CO) PT08.S2(NMHC) PT08.S3(NOx)"],
        "dphi-official/auction_data": ["openbid", "bidtime bidderrate", "bid", "price"],
        "dphi-official/avocado": ["year type", "AveragePrice Total_Volume"],
        "dphi-official/bank_marketing": ["age", "balance housing loan", "campaign", "duration", "subscribe"],
        "dphi-official/cancer_death_rate": [
            "medIncome povertyPercent PctBachDeg25_Over",
            "incidenceRate",
            "TARGET_deathRate",
        ],
        "dphi-official/eng_grad_emp_salary": [
            "Gender",
            "10percentage",
            "12percentage",
            "collegeGPA",
            "English Logical Quant",
            "Salary",
        ],
        "dphi-official/framingham": ["male age", "education", "cigsPerDay", "totChol sysBP BMI glucose", "TenYearCHD"],
        "dphi-official/liver_patient": [
            "Age Gender",
            "Total_Bilirubin Alkaline_Phosphotase Alamine_Aminotransferase Total_Protiens Albumin liver_disease",
        ],
        "dphi-official/parkinsons": ["age sex test_time", "motor_UPDRS total_UPDRS", "NHR HNR RPDE DFA PPE"],
        "dphi-official/patient_treat_class": [
            "AGE SEX",
            "HAEMATOCRIT HAEMOGLOBINS ERYTHROCYTE LEUCOCYTE THROMBOCYTE MCV",
            "SOURCE",
        ],
        "dphi-official/startupdata": [
            "age_first_funding_year",
            "age_last_funding_year funding_rounds",
            "funding_total_usd",
            "status",
        ],
        "dphi-official/travel_insurance": ["Age", "Duration", "Net_Sales", "Commision_(in_value)", "Claim"],
        # https://github.com/pycaret/pycaret
        "pycaret/blood": ["Time", "Frequency Recency", "Class"],
        "pycaret/credit": ["SEX AGE", "LIMIT_BAL", "BILL_AMT6", "BILL_AMT4", "BILL_AMT2", "default"],
        "pycaret/forest": ["temp RH wind rain", "FFMC DMC DC ISI", "area"],
        "pycaret/heart": ["AGE_50 HT_50", "SBP_50 DBP_50 WT_50 CHOL_50", "SBP_62 DBP_62 CHOL_62 WT_62", "IHD_DX DEATH"],
        "pycaret/hepatitis": ["AGE SEX", "BILIRUBIN ALK_PHOSPHATE SGOT ALBUMIN", "Class"],
        "pycaret/nba": ["GP MIN", "FGA FTA", "FGM FTM", "PTS", "TARGET_5Yrs"],
        "pycaret/traffic": ["temp rain_1h clouds_all Rush_Hour", "traffic_volume"],
        "pycaret/us_presidential_election_results": ["cycle incumbent_running", "dem_poll_avg", "party_winner"],
        # https://github.com/reisanar/datasets
        "reisanar/CommuteAtlanta": ["Age Sex", "Distance", "Time"],
        "reisanar/CommuteStLouis": ["Age Sex", "Distance", "Time"],
        "reisanar/SleepStudy": [
            "Gender ClassYear",
            "NumEarlyClass",
            "AverageSleep Drinks ClassesMissed GPA DepressionScore",
        ],
        "reisanar/NutritionStudy": [
            "Age Gender",
            "Smoke Quetelet Calories Fat Fiber BetaDiet RetinolDiet",
            "BetaPlasma RetinolPlasma",
        ],
        "reisanar/HollywoodMovies": [
            "Year Budget",
            "TheatersOpenWeek",
            "OpeningWeekend",
            "DomesticGross",
            "WorldGross",
        ],
        "reisanar/IMDB_movies": ["Year", "Runtime_(Minutes)", "Rating Votes Revenue_(Millions) Metascore"],
        "reisanar/LaLiga": ["goals_scored goals_conceded", "matches_won matches_drawn", "points"],
        "reisanar/NBAchampionsdata": ["Home", "FGA FTA", "FG FT", "PTS", "Win"],
        "reisanar/RestaurantTips": ["Guests", "Bill", "Tip", "PctTip"],
        "reisanar/WestRoxbury": ["LOT_SQFT YR_BUILT", "LIVING_AREA ROOMS BEDROOMS FULL_BATH", "TOTAL_VALUE", "TAX"],
        "reisanar/bbTop100": ["year", "danceability energy loudness valence tempo duration_ms"],
        "reisanar/fifa18": ["age", "acceleration stamina ball_control dribbling short_passing", "overall"],
        "reisanar/macmenu": ["Total_Fat Carbohydrates Protein", "Calories"],
        "reisanar/starbucks": ["Total_Fat_(g) Total_Carbohydrates_(g) Protein_(g)", "Calories"],
        "reisanar/new-york-bridges-2016": ["Built YearInspected", "AgeAtInspection", "Condition"],
        "reisanar/presidentialElections": ["year south", "demVote"],
        "reisanar/wdi_co2": ["year", "SP.POP.TOTL EN.ATM.CO2E.PC NY.GDP.PCAP.KD"],
        "reisanar/worldcup": ["Time", "Shots Passes Tackles Saves"],
        "reisanar/new_wc_2018_players": ["age height", "weight caps"],
        "reisanar/harvardMIT": [
            "Year",
            "Participants_(Course_Content_Accessed)",
            "Audited_(>_50%_Course_Content_Accessed)",
            "Certified",
        ],
        "reisanar/marathon_results_2017": ["Age M/F", "5K", "10K", "20K", "30K", "40K", "Official_Time"],
        # https://github.com/gchoi/Dataset
        "gchoi/Batting-2014": ["Age", "G", "PA", "H 2B HR BB SO", "R RBI"],
        "gchoi/FlightDelays": ["schedtime distance dayweek weather", "deptime", "delay"],
        "gchoi/contribution": [
            "Class_Year Gender",
            "FY00Giving",
            "FY01Giving",
            "FY02Giving",
            "FY03Giving",
            "FY04Giving",
        ],
        "gchoi/HousePrices": ["SqFt", "Bedrooms Bathrooms", "Offers Price"],
        # https://github.com/genomicsclass/dagdata
        "genomicsclass/mice_pheno": ["Sex Diet", "Bodyweight"],
        # https://github.com/kosukeimai/qss
        "kosukeimai/STAR": ["yearssmall", "g4math g4reading", "hsgrad"],
        "kosukeimai/leaders": ["year", "age politybefore", "polityafter"],
        "kosukeimai/minwage": ["wageBefore fullBefore partBefore", "wageAfter fullAfter partAfter"],
        "kosukeimai/afghan": ["age", "educ.years", "employed", "violent.exp.ISAF violent.exp.taliban"],
        "kosukeimai/afghan-village": ["altitude", "population", "village.surveyed"],
        "kosukeimai/congress": ["congress", "dwnom1 dwnom2"],
        "kosukeimai/unvoting": ["Year", "idealpoint PctAgreeUS PctAgreeRUSSIA"],
        "kosukeimai/vignettes": ["china age", "self alison jane moses"],
        "kosukeimai/MPs": ["yob", "margin", "yod ln.gross"],
        "kosukeimai/face": ["year d.comp", "d.votes r.votes"],
        "kosukeimai/progresa": ["pri1994 votos1994 avgpoverty pobtot1994", "treatment", "t2000 pri2000s"],
        "kosukeimai/transfer": ["pop82 poverty80 educ80", "poverty91 educ91 literate91"],
        "kosukeimai/women": ["reserved", "female", "irrigation water"],
        "kosukeimai/chinawomen": ["biryr teasown orch", "sex"],
        "kosukeimai/nazis": ["shareself shareblue sharewhite sharedomestic shareunemployed nvoter", "nazivote"],
        # https://github.com/matloff/regtools
        "matloff/prgeng": ["age sex", "educ", "wkswrkd", "wageinc"],
        # https://github.com/tirthajyoti/Machine-Learning-with-Python
        "tirthajyoti/loan_data": [
            "log.annual.inc dti fico days.with.cr.line",
            "int.rate",
            "installment",
            "not.fully.paid",
        ],
        "tirthajyoti/slump_test": [
            "Cement Slag Fly_ash Water SP Coarse_Aggr. Fine_Aggr.",
            "SLUMP(cm) FLOW(cm) Compressive_Strength_(28-day)(Mpa)",
        ],
        # https://github.com/alexeygrigorev/datasets
        "alexeygrigorev/laptops": ["RAM Storage Screen", "Final_Price"],
        # https://github.com/intro-stat-learning/ISLP
        "intro-stat-learning/Publication": ["multi sampsize budget", "posres", "time"],
        # https://github.com/dsrscientist/dataset1
        "dsrscientist/headbrain": ["Gender AgeRange", "HeadSize", "BrainWeight"],
        "dsrscientist/house_price_data": ["TotalFloor Floor", "Sqft Bedroom Living.Room Bathroom", "Price"],
        # https://github.com/rashida048/Datasets
        "rashida048/USA_cars_datasets": ["year", "mileage", "price"],
        "rashida048/nhanes_2015_2016": ["RIAGENDR RIDAGEYR", "BMXHT BMXLEG", "BMXWT BMXWAIST BMXARMC", "BPXSY1 BPXDI1"],
    },
}
METHODS = {
    "auto": {},
    "evidence": {"binary_effect_penalty": 0.0},
    "gaussian": {"noise_distribution": "gaussian"},
    "free": {"noise_distribution": "free"},
}
RIVALS = ("ICDH (last stage)", "NOTEARS-MLP", "DirectLiNGAM", "LiNGAM", "GES", "CAM", "HOST")


def read(path, names):
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not {row[name] for name in names} & {"", "NA"}]
    if len(rows) > MOST_ROWS:
        chosen = np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)
        rows = [rows[k] for k in sorted(chosen)]
    return LabelledTable(np.column_stack([as_numbers([row[name] for row in rows]) for name in names]), names)


def read_by_chance(path, levels):
    """Return a table whose columns are in an order of chance, and the level of each."""
    level_of = {name: k for k, level in enumerate(levels) for name in level.split()}
    names = np.random.default_rng(sum(map(ord, path.stem))).permutation([*level_of]).tolist()
    return read(path, names), np.array([level_of[name] for name in names])


def as_numbers(cells):
    """Return the cells of a column as numbers, two labels as 0 and 1."""
    try:
        return np.array(cells, dtype=float)
    except ValueError:
        labels, codes = np.unique(cells, return_inverse=True)
        if labels.size > 2:
            raise
        return codes.astype(float)


def fit_one(path, levels, method, resamples):
    """Return how many edges point forward, backward and nowhere, which point backward, the seconds, and the noise.

    With ``resamples`` also how many forward and backward ones are decided.
    """
    names = [name for level in levels for name in level.split()]
    level = np.repeat(np.arange(len(levels)), [len(level.split()) for level in levels])
    table = read(path, names)
    start = time.process_time()
    if method in RIVALS:
        edges = rival_edges(method, path.stem, table.values)
        return outcome(edges, level, names, "-", time.process_time() - start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HNMSearch(**METHODS[method]).fit(table)
        seconds = time.process_time() - start
        undecided = bootstrap(model, table, resamples).undecided(model.adjacency_matrix_) if resamples else None
    edges = np.argwhere(model.adjacency_matrix_)
    return outcome(edges, level, names, model.noise_distribution_, seconds) | (
        {"decided": counts(edges[~undecided[tuple(edges.T)]], level)[:2]} if resamples else {}
    )


def rival_edges(method, name, X):
    """Return the directed edges of a method that sees standardised columns in an order of chance."""
    order = np.random.default_rng(seed_of(f"order/{name}")).permutation(X.shape[1])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    graph = np.abs(estimate(method, X[:, order], 0)) > THRESHOLD
    return order[np.argwhere(graph & ~graph.T)]


def outcome(edges, level, names, noise, seconds):
    forward, backward, within = counts(edges, level)
    return {
        "forward": forward,
        "backward": backward,
        "within": within,
        "against": [f"{names[i]}->{names[j]}" for i, j in edges if level[i] > level[j]],
        "noise": noise,
        "seconds": seconds,
    }


def counts(edges, level):
    """Return how many edges point to a later level, to an earlier one, and to their own."""
    steps = [int(level[j] - level[i]) for i, j in edges]
    return [sum(step > 0 for step in steps), sum(step < 0 for step in steps), steps.count(0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", choices=LEVELS, default=["look"])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *RIVALS], default=["auto"])
    parser.add_argument("--resamples", type=int, default=0)
    args = parser.parse_args()
    kept = json.loads(args.results.read_text(encoding="utf-8")) if args.results.exists() else {}
    HNMSearch().fit(np.random.default_rng(0).normal(size=(50, 3)))  # compile before the clock runs
    for tables in args.tables:
        for method in args.methods:
            found = []
            for name, levels in LEVELS[tables].items():
                key = f"{name}/{method}" + (f"/{args.resamples} resamples" if args.resamples else "")
                if key not in kept:
                    kept[key] = fit_one(args.folder / f"{name}.csv", levels, method, args.resamples)
                    with replace_on_success(args.results) as temporary:
                        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
                found.append(kept[key])
                print(line(name, method, kept[key]), flush=True)
            print(total_line(tables, method, found), flush=True)


def line(name, method, row):
    against = " ".join(row["against"])
    return (
        f"{name:<12} {method:<9} {row['noise']:<9} forward {row['forward']:3d}  backward {row['backward']:3d}  "
        f"within {row['within']:3d}  s {row['seconds']:6.1f}  {against}"
    )


def total_line(tables, method, rows):
    forward, backward = (sum(row[which] for row in rows) for which in ("forward", "backward"))
    decided = np.sum([row.get("decided", [0, 0]) for row in rows], axis=0)
    parts = {"": (forward, backward)}
    if decided.any():
        parts |= {"decided: ": decided, "undecided: ": (forward - decided[0], backward - decided[1])}
    shares = [f"{part}forward {f}, backward {b}: {f / max(1, f + b):.0%}" for part, (f, b) in parts.items()]
    return f"{tables:<12} {method:<9} {'; '.join(shares)}; {len(rows)} tables"


if __name__ == "__main__":
    main()
