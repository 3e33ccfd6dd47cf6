package store

import (
	"context"
	"fmt"
	"time"

	"leakdiff/analysis"
)

// mostQuiet is the age of the newest upload or frozen result from which a clock is not believed
// any more: what is dropped by one that is ahead is lost, what is kept by one that is right goes
// after the next upload.
const mostQuiet = 60 * 24 * time.Hour

// ClockAhead is the Code of a fault: nothing is dropped because the clock may be ahead.
const ClockAhead = "clock_ahead"

// clockAhead refuses to drop by a clock that is further ahead of the newest row than a server is
// quiet.
func (s *Store) clockAhead(ctx context.Context) error {
	var newest int64
	if err := s.reader.QueryRowContext(ctx, newestSQL).Scan(&newest); err != nil {
		return fault("looking for the newest upload", err)
	}
	quiet := s.time().Sub(fromMicros(newest))
	if newest == 0 || quiet <= mostQuiet {
		return nil
	}
	return &analysis.Fault{
		Code: ClockAhead, What: "nothing is dropped, because the clock of this machine may be ahead",
		Why:  fmt.Sprintf("the newest upload or frozen result is %d days old", int(quiet.Hours()/24)),
		Hint: "Set the clock. If it is right, upload something first: then what is due is dropped.",
	}
}

const newestSQL = `
SELECT coalesce(max(at), 0) FROM (
    SELECT max(created_at) AS at FROM bundle
    UNION ALL SELECT max(created_at) FROM permalink) AS newest`
