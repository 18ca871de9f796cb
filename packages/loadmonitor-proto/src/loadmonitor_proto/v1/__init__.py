"""Generated code of version 1; import the names from loadmonitor_proto."""
