package wording

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"leakdiff/analysis"
)

// plainSpaces makes expected values readable.
func plainSpaces(s string) string {
	return strings.NewReplacer(thinSpace, " ", hardSpace, " ").Replace(s)
}

func TestFiguresAreWrittenAsPeopleReadThem(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"a rise has a plus":                         {Signed(412), "+412"},
		"a fall has a true minus":                   {Signed(-3), "−3"},
		"no change has no sign":                     {Signed(0), "0"},
		"a large rise is grouped":                   {Signed(100305), "+100 305"},
		"four digits stay together":                 {Number(9999), "9999"},
		"five digits are grouped":                   {Number(10000), "10 000"},
		"negative counts too":                       {Number(-12345), "−12 345"},
		"file counts are grouped from one thousand": {Exact(1470), "1 470"},
		"small sizes are bytes":                     {Bytes(999), "999 B"},
		"kilobytes have one digit below ten":        {Bytes(1400), "1.4 kB"},
		"and none above":                            {Bytes(876123), "876 kB"},
		"a rounded thousand is the next unit":       {Bytes(999600), "1.0 MB"},
		"nine point nine five is ten":               {Bytes(9960), "10 kB"},
		"gigabytes":                                 {Bytes(48_100_000_000), "48 GB"},
		"seconds":                                   {PageDuration(12 * time.Second), "12 s"},
		"minutes and seconds":                       {PageDuration(440 * time.Second), "7 min 20 s"},
		"whole hours":                               {PageDuration(3 * time.Hour), "3 h"},
		"days and hours":                            {PageDuration(52 * time.Hour), "2 d 4 h"},
		"only two units":                            {PageDuration(25*time.Hour + 3*time.Second), "1 d 1 h"},
		"below a second":                            {PageDuration(120 * time.Millisecond), "120 ms"},
		"a rise in per cent":                        {Percent(115, 243), "+111 %"},
		"a fall in per cent":                        {Percent(100, 92), "−8 %"},
		"new instead of infinity":                   {Percent(0, 40), "new"},
		"nothing of nothing":                        {Percent(0, 0), "0 %"},
		"a rise below one per cent is not nought":   {Percent(10000, 10001), "< +1 %"},
		"a fall below one per cent is not nought":   {Percent(10000, 9999), "> −1 %"},
		"a wait is a lower bound":                   {Wait(3), "≥ 3 min"},
		"a long wait":                               {Wait(61), "≥ 1 h 1 min"},
		"no printed minute is less than one":        {Wait(0), "< 1 min"},
		"a kind without waits":                      {Wait(-1), "n/a"},
		"an unknown time is said":                   {Time(time.Time{}), "time unknown"},
		"times are UTC":                             {Time(time.Date(2026, 11, 21, 3, 58, 10, 0, time.FixedZone("", 3600))), "2026-11-21 02:58:10"},
		"one is singular":                           {PagePlural(1, "problem", "problems"), "1 problem"},
		"many are plural":                           {PagePlural(1470, "file", "files"), "1 470 files"},
		"one member":                                {Members(analysis.KindGoroutine, 1), "1 goroutine"},
		"watches have a plural of their own":        {Members(analysis.KindWatch, 2), "2 watches"},
		"the kind alone":                            {Kinds(analysis.KindDescriptor), "descriptors"},
		"a text is not grouped":                     {Plural(12345, "entry", "entries"), "12345 entries"},
		"no word":                                   {List(nil, 3), ""},
		"words are joined":                          {List([]string{"a", "b", "c"}, 3), "a, b and c"},
		"too many words are counted":                {List([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		"names of data have commas":                 {Commas([]string{"t1", "t2"}, 3), "t1, t2"},
		"decimals below ten seconds":                {Duration(2500 * time.Millisecond), "2.5 s"},
		"no duration":                               {Duration(0), "0 s"},
		"a minute is never sixty seconds":           {Duration(59_700 * time.Millisecond), "1 min"},
		"a day is never 24 hours":                   {Duration(24*time.Hour - time.Second), "1 d"},
		"a negative duration":                       {PageDuration(-90 * time.Second), "−1 min 30 s"},
		"an interval keeps its smaller unit":        {Interval(8 * time.Minute), "8 min 0 s"},
		"an interval of hours":                      {Interval(125 * time.Minute), "2 h 5 min"},
		"an interval of days":                       {Interval(-76 * time.Hour), "−3 d 4 h"},
		"an interval of seconds":                    {Interval(1400 * time.Millisecond), "1 s"},
		"a span of seconds":                         {Span(50.0 / 3600), "50 s"},
		"a span in minutes is rounded up":           {Span(11.2 / 60), "12 min"},
		"a span of 12 seconds":                      {Span(12.0 / 3600), "12 s"},
		"a span of 35 seconds":                      {Span(35.0 / 3600), "35 s"},
		"a span of half an hour":                    {Span(0.5), "30 min"},
		"a span of whole hours":                     {Span(3), "3.0 h"},
		"a span of hours":                           {Span(2.52), "2.5 h"},
		"a minute of a day":                         {Minute(time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)), "2026-11-21 02:58Z"},
		"the time of an event":                      {EventTime(time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)), "2026-11-21 02:58:10Z"},
		"the time in a file":                        {FileTime(time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)), "2026-11-21 02:58:10 UTC"},
		"a minute of a clock":                       {ClockMinute(time.Date(2026, 11, 21, 2, 58, 10, 0, time.UTC)), "02:58Z"},
		"a word that fits one":                      {Fit(1, "was", "were"), "was"},
		"a word that fits none":                     {Fit(0, "was", "were"), "were"},
		"a capital":                                 {Capital("watches"), "Watches"},
		"a small letter":                            {Lower("A limit"), "a limit"},
		"names are joined by and":                   {Ands([]string{"a", "b", "c"}), "a and b and c"},
		"a share of a count":                        {CountShare(1, 4), "25 %"},
		"a share of nothing":                        {CountShare(0, 0), "none"},
		"a share of a count below all":              {CountShare(999, 1000), "99 %"},
		"the whole count":                           {CountShare(7, 7), "100 %"},
		"a large rate":                              {PageRate(12345.4), "12 345"},
		"a rate of tens":                            {PageRate(96.4), "96"},
		"a rate below ten":                          {PageRate(9.64), "9.6"},
		"a rate below one":                          {PageRate(0.964), "0.96"},
		"less than all is not 100 %":                {Share(0.999), "99 %"},
		"a ratio":                                   {Ratio(2.14), "2.1"},
		"a whole ratio":                             {Ratio(3), "3"},
		"small decimals":                            {Decimal(0.0341), "0.034"},
		"large decimals":                            {Decimal(332.6), "333"},
		"binary units":                              {Size(34359738368), "32 GiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, plainSpaces(tt.got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDigitsSurviveGrouping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<62).Draw(t, "n")
		var back int64
		for _, r := range Exact(n) {
			if r >= '0' && r <= '9' {
				back = back*10 + int64(r-'0')
			}
		}
		if back != n {
			t.Errorf("Exact(%d) reads %d", n, back)
		}
	})
}

func TestAPartIsNeverRoundedToTheWhole(t *testing.T) {
	for _, tt := range []struct {
		part, whole float64
		decimals    int
		want        string
	}{{19910, 20000, 0, "99 %"}, {20000, 20000, 0, "100 %"}, {99999, 100000, 1, "99.9 %"}, {1, 3, 1, "33.3 %"}, {24, 20, 0, "120 %"}} {
		if got := strings.ReplaceAll(PageShare(tt.part, tt.whole, tt.decimals), hardSpace, " "); got != tt.want {
			t.Errorf("%v of %v is %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

func TestLessThanAllIsNotAHundredPercent(t *testing.T) {
	for share, want := range map[float64]string{19910.0 / 20000: "99 %", 1: "100 %", 0.994: "99 %", 1.2: "120 %", 0.5: "50 %"} {
		if got := strings.ReplaceAll(Share(share), "\u00a0", " "); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}
