-- The transactions that change a case raise its revision, and those that delete what was
-- seen of a family list it, by themselves.
DROP TRIGGER revision_of_new_bundle;
DROP TRIGGER revision_of_bundle;
DROP TRIGGER revision_of_gone_bundle;
DROP TRIGGER revision_of_new_edit;
DROP TRIGGER revision_of_edit;
DROP TRIGGER revision_of_new_triage;
DROP TRIGGER revision_of_triage;
DROP TRIGGER revision_of_gone_triage;
DROP TRIGGER report_of_changed_case;
DROP TRIGGER judgements_of_gone_bundle;
DROP TRIGGER family_lost;
