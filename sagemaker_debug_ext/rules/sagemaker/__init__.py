"""The rules of SageMaker Debugger, one per module, in the topics of `extra`. The service defines their parameters."""
