"""The policies inside other libraries; each module needs the library it is named after, and imports it when it is used."""
