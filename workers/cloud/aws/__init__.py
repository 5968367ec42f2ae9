"""The AWS implementation of the load-balancer interface. The only package that knows boto3."""
