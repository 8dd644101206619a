"""The rules of SageMaker Debugger, one per module. The service defines their names, parameters and defaults."""
