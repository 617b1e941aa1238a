-- What the platform's own kinds write into the audit log. On their own: a new value cannot be used in the transaction that adds it.
alter type mdm.audit_action add value 'import_done';
alter type mdm.audit_action add value 'attachment_scanned';
alter type mdm.audit_action add value 'index_change';
alter type mdm.audit_action add value 'reindex_done';
alter type mdm.audit_action add value 'document_processed';
alter type mdm.audit_action add value 'webhook_change';
