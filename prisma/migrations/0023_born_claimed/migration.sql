-- A job that its process starts at once goes in claimed (src/sql/enqueue-claimed.ts), at revision 2, and writes its journal row and its claim itself.
-- What is born running by hand stands at revision 1.
drop trigger aa_job_hand_made_birth on mdm.aa_job;
create trigger aa_job_hand_made_birth after insert on mdm.aa_job
  for each row when (new.revision = 0 or (new.status = 'running' and new.revision = 1)) execute function mdm.journal_hand_made_insert();
