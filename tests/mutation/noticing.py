"""Which tests should notice a change of a module."""

# The tests of all modules whose path begins so, the likeliest to notice first.
TESTS = {
    "exceptions.py": "test_estimator::test_warnings_name_the_line_that_called_fit",
    "files/tables.py": "test_files test_cli_columns test_cli_way_in",
    "files/text.py": "test_files test_cli_columns test_cli_way_in",
    "cli/fit.py": "test_cli_way_in",
    "plotting/graph.py": "test_plotting",
    "report/": "test_cli_way_in test_report",
    "_model/structural.py": (
        "test_table test_categorical test_what_if test_frames test_report test_persist test_estimator"
    ),
    "_model/effects.py": "test_effect test_what_if",
    "_utils/jit.py": "test_linear_algebra test_phase_two test_evidence",
    "_network_kernels.py": "test_likelihood test_phase_one test_phase_two",
    "network.py": "test_arguments test_likelihood test_phase_one test_phase_two test_strength test_time_limit",
    "likelihood.py": "test_likelihood test_arguments",
    "_utils/density.py": "test_entropy test_likelihood test_rows test_two_phase test_count",
    "diagnostics/": "test_check",
    "graphs.py": (
        "test_graphs test_knowledge::test_cycles_are_broken_around_required_edges "
        "test_search::test_the_equivalence_class_is_that_of_joined_pairs_and_colliders test_overview test_plotting"
    ),
    "_table/frames.py": "test_frames test_arguments",
    "_table/table.py": (
        "test_table test_experiments::test_unknown_targets_are_found test_columns test_categorical test_missing "
        "test_invariance"
    ),
    "two_phase/": "test_weighted_phases test_phase_two test_rows test_failed_factors test_two_phase test_time_limit",
    "two_phase/as_printed.py": "test_as_printed test_arguments",
    "two_phase/family.py": (
        "test_phase_one test_weighted_phases test_last_stage test_strength test_time_limit test_rows test_two_phase"
    ),
    "acyclicity.py": "test_acyclicity",
    "two_phase/procedure.py": (
        "test_phase_two::test_the_multiplier_follows_the_constraint "
        "test_phase_two::test_the_descent_adds_edges_until_no_absent_one_would_pay "
        "test_phase_two::test_cycles_are_cut_at_their_weakest_edge_before_the_descent "
        "test_phase_two::test_a_further_start_has_the_largest_weight_that_is_asked_for_at_every_node "
        "test_two_phase test_rows test_phase_two test_failed_factors test_time_limit"
    ),
    "_estimators/two_phase_fit.py": (
        "test_estimator::test_restarts_keep_the_network_of_the_lowest_criterion "
        "test_time_limit::test_no_restart_begins_when_time_is_over test_strength test_last_stage test_time_limit"
    ),
    "_node_model/": "test_evidence test_hidden_units test_rows test_failed_factors test_gain_estimates",
    "_node_model/network.py": "test_hidden_units test_evidence test_rows test_experiments test_categorical",
    "_node_model/_outputs_kernels.py": (
        "test_ordinal test_categorical test_count test_responses test_descent test_evidence"
    ),
    "_node_model/_kernels.py": (
        "test_descent test_evidence test_columns test_failed_factors test_gain_estimates test_entropy test_weights"
    ),
    "_node_model/_descent_kernels.py": "test_descent test_evidence test_failed_factors",
    "_node_model/discrete.py": (
        "test_responses test_categorical test_ordinal test_count test_weights test_gain_estimates"
    ),
    "_node_model/family_models.py": (
        "test_heteroscedastic::test_each_model_of_a_family_is_kept_as_what_it_is test_evidence test_noise_densities "
        "test_groups::test_rows_that_stand_alone_have_the_scores_of_no_groups test_linear test_weights "
        "test_hidden_units test_gain_estimates"
    ),
    "_node_model/gaussian.py": (
        "test_gain_estimates::test_standardised_scores_of_a_gaussian_response test_evidence test_columns test_linear"
    ),
    "_node_model/noise.py": "test_responses test_noise_densities test_entropy test_weights test_evidence",
    "_node_model/point_masses.py": "test_responses test_point_masses",
    "_node_model/response.py": "test_responses test_descent test_ordinal test_categorical",
    "_node_model/law.py": "test_responses",
    "_rows.py": "test_dependent_rows test_groups",
    "_effect/": "test_effect test_cli_model",
    "_estimators/arranged.py": "test_table test_experiments::test_unknown_targets_are_found test_invariance",
    "_node_model/additive.py": "test_additive",
    "_node_model/heteroscedastic.py": "test_heteroscedastic",
    "_node_model/generalised_linear.py": "test_ordinal",
    "_node_model/screening.py": "test_linear test_order_search",
    "search/order_search.py": "test_order_search",
    "_node_model/families.py": (
        "test_groups::test_design_effects_are_those_of_slow_sums "
        "test_groups::test_rows_that_stand_alone_have_the_scores_of_no_groups "
        "test_groups::test_noise_is_of_all_rows_where_groups_have_nothing_in_common "
        "test_groups::test_a_weighted_fit_to_copies_is_the_fit_to_one_of_each "
        "test_groups::test_persons_suggest_no_edges_and_visits_keep_theirs "
        "test_groups::test_strengths_and_losses_are_of_the_rows_that_they_are_worth "
        "test_linear test_gain_estimates test_evidence test_hidden_units test_rows test_failed_factors "
        "test_time_limit::test_few_rows_are_of_those_that_count "
        "test_categorical::test_a_cause_of_labels_comes_and_goes_as_one "
        "test_categorical::test_what_labels_may_gain_is_not_guessed test_binary_effects"
    ),
    "search/climb.py": "test_search test_gain_estimates test_knowledge test_interrupts",
    "search/escapes.py": "test_search test_pair_estimates",
    "search/directions.py": "test_search test_uncertainty",
    "_node_model/score.py": (
        "test_hidden_units test_uncertainty::test_a_noise_that_nobody_named_is_averaged_over test_many_rows "
        "test_evidence test_failed_factors test_linear test_time_limit"
    ),
    "_node_model/columns.py": "test_columns test_point_masses test_binary_effects test_hidden_units",
    "_utils/clock.py": "test_time_limit",
    "_utils/parallel.py": "test_interrupts test_threads test_parallel",
    "_table/experiments.py": "test_experiments test_missing test_what_if",
    "_node_model/gain_estimates.py": "test_gain_estimates test_pair_estimates",
    "search/": "test_search",
    "search/orders.py": "test_uncertainty",
    "pairs.py": "test_direction test_knowledge",
    "_table/transforms.py": "test_transforms test_columns",
    "uncertainty/": "test_uncertainty test_experiments::test_unknown_targets_are_found test_missing",
    "uncertainty/losses.py": "test_hidden test_mean_and_spread test_uncertainty",
    "metrics.py": "test_metrics test_uncertainty",
}
