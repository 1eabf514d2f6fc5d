"""Published measurements that come with the product; ``README.md`` names their source."""
