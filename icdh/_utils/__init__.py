"""What everything stands on: checks of arguments, clocks, threads, files, compiling."""
