# Nothing is deployed here. The platform for distributed training is an exception: the call of
# ./modules/aml is added in the pull request that also carries the first admission, and the gate
# refuses a call while no admission is valid. docs/setup-azure.md has the call to copy.
