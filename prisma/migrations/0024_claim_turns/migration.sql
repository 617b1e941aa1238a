-- The transaction that claimed last. A sequence shows it to whoever comes next, whatever their snapshot sees (src/sql/claim-parts.ts).
create sequence mdm.aa_claim_last;
