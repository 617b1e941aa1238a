-- A type, term, workflow or template was changed. On its own: a new value cannot be used in the transaction that adds it.
alter type mdm.audit_action add value 'metadata_change';
