"""The rules that SageMaker Debugger has, one a module. The service fixes their names, parameters and defaults."""
