package mcp

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"leakdiff/analysis/say/report"
)

type followIn struct {
	Case   string `json:"case" jsonschema:"id of a case"`
	Member string `json:"member" jsonschema:"goroutine:42, thread:31, fd:12, inode:90112 or watch:5.3 (watch 3 of fd 5)"`
	Series *int   `json:"series,omitempty" jsonschema:"number of the process; if left out, all"`
	From   int    `json:"from,omitempty" jsonschema:"leave out so many captures"`
	Limit  int    `json:"limit,omitempty" jsonschema:"captures per answer, 20 if left out, at most 100"`
}

type followOut struct {
	Tracks any `json:"tracks"` // one for each run of a process that has it, with its place in each capture
	rest
}

// mostTracks bounds the runs of processes, mostStarted the goroutines that one started.
const (
	mostTracks  = 2
	mostStarted = 10
)

func (t *tools) follow(ctx context.Context, in followIn) (followOut, error) {
	c, err := t.cases.Report(ctx, in.Case)
	if err == nil {
		err = checkSeries(c.Report, in.Series)
	}
	if err != nil {
		return followOut{}, err
	}
	data, err := t.cases.Follow(ctx, c, in.Series, in.Member)
	if err != nil {
		return followOut{}, err
	}
	out := followOut{rest: rest{Left: left{}}}
	tracks := slices.Clone(cut(out.Left, "tracks", data.Tracks, mostTracks))
	for i := range tracks {
		x := &tracks[i]
		all := slices.Clone(x.Places)
		x.Places, x.Started = nil, cut(out.Left, "started", x.Started, mostStarted)
		places, after := window(tracks[:i+1], all, in.From, limited(in.Limit, 20, 100))
		for k := range places {
			places[k].Labels = cut(out.Left, "labels", places[k].Labels, mostKnown)
		}
		x.Places, out.More = places, cmp.Or(out.More, more(in.From, len(places), after))
	}
	out.Tracks = tracks
	return out, nil
}

// Follow is GET /members/{id}.json.
func (s *served) Follow(ctx context.Context, c Case, series *int, member string) (report.Following, error) {
	query := url.Values{"case": {c.ID}}
	if series != nil {
		query = of(c, *series)
	}
	return getAs[report.Following](ctx, s, "/members/"+member+".json", query)
}
