package view

import (
	"net/url"

	"leakdiff/analysis/say/document"
	"leakdiff/analysis/say/wording"
)

// RetentionInput is what policies of retention would drop now.
type RetentionInput struct {
	// CaseID and CaseTitle are those of the one case that was asked for, or empty.
	CaseID, CaseTitle string
	Cases             []RetainedCase
}

// RetainedCase is what the policy of a case would drop: the members of snapshots, MemberBytes as
// stored, and uploads.
type RetainedCase struct {
	ID, Title                string
	KeepMembers, KeepUploads int
	Snapshots, Bundles       int
	MemberBytes, UploadBytes int64
}

// NewRetention makes the page of what policies would drop. The caller adds the engine line.
func NewRetention(in RetentionInput) Page {
	v := Page{Shell: Shell{Title: "Retention", Section: "cases", Crumbs: []Link{{"Cases", "/"}}, Here: "Retention"}}
	if in.CaseID != "" {
		v.Shell.Crumbs = append(v.Shell.Crumbs, Link{Visible(in.CaseTitle), "/cases/" + url.PathEscape(in.CaseID)})
	}
	var all RetainedCase
	for _, c := range in.Cases {
		all.Snapshots, all.MemberBytes = all.Snapshots+c.Snapshots, all.MemberBytes+c.MemberBytes
		all.Bundles, all.UploadBytes = all.Bundles+c.Bundles, all.UploadBytes+c.UploadBytes
	}
	v.Body.Title(wording.Droppable(all.Snapshots, all.MemberBytes, all.Bundles, all.UploadBytes))
	v.Body.Say("lead", wording.RetentionKeeps)
	if len(in.Cases) == 0 {
		return v
	}
	table := document.Table{Look: "data", Label: "Cases", Caption: "What would be dropped of each case", Numeric: 3,
		Head: []document.Cell{{Words: "Case"}, {Words: "Members are kept"}, {Words: "Uploads are kept"}, {Words: "Captures", Look: document.Figured}, {Words: "Their members", Look: document.Figured}, {Words: "Uploads", Look: document.Figured}, {Words: "Their size", Look: document.Figured}}}
	part := document.Part{}
	for _, c := range in.Cases {
		part.Rows = append(part.Rows, document.Row{Cells: []document.Cell{
			{Header: true, Text: document.Text{{URL: "/cases/" + url.PathEscape(c.ID), Look: document.Strong, Text: Visible(c.Title)}}},
			{Words: wording.KeptDays(c.KeepMembers)}, {Words: wording.KeptDays(c.KeepUploads)},
			{Look: document.Figured, Words: wording.Number(int64(c.Snapshots))}, {Look: "num nowrap", Words: wording.Size(c.MemberBytes)},
			{Look: document.Figured, Words: wording.Number(int64(c.Bundles))}, {Look: "num nowrap", Words: wording.Size(c.UploadBytes)},
		}})
	}
	table.Parts = []document.Part{part}
	v.Body.Add(document.NewSection("cases", "Cases", wording.Number(int64(len(in.Cases))), table))
	return v
}
