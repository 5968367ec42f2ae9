"""AWS: what the fleet asks of Elastic Load Balancing. The only place that knows boto3."""
