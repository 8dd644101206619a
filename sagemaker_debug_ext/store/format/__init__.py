"""The bytes of a trial (store format): names of objects, records, messages, index files and collections files."""
