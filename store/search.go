package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"leakdiff/analysis"
)

// maxWords and maxWord (bytes) bound a query: further words are ignored, longer ones are
// cut. The cost of a phrase is its length times the hits of its first trigrams.
const (
	maxWords = 8
	maxWord  = 120
)

// Aliases returns the functions and types that a word of a query stands for beside itself: those
// that people call so.
type Aliases func(word string) []string

// mostAliases bounds those of a word.
const mostAliases = 60

// SearchResult lists the matches of all words of a query, over all cases.
type SearchResult struct {
	Families  []FamilyHit
	Cases     []CountedCase
	Processes []ProcessHit
}

// FamilyHit is a matching family with its number of sightings.
type FamilyHit struct {
	Family analysis.Family
	// Cases and Snapshots count the sightings, a snapshot once for each bundle that contains it.
	// Highest is the largest count.
	Cases, Snapshots, Highest int
	// LastSeen is the latest capture, zero if no snapshot has a time.
	LastSeen time.Time
	// Verdict is the worst of its endings, empty if it is stable or too little is known.
	Verdict string
}

// ProcessHit is a matching process with its cases.
type ProcessHit struct {
	Host, Name       string
	Cases, Snapshots int
	// Latest is the summary of the newest case that is about it, the zero value without one.
	Latest Summary
}

// SearchFunctions returns matching families, most recently seen first, and matching cases
// and processes, at most limit of each. A family matches if its function names, title or
// attributes contain every word of the query or an alias of it, if one of its functions is in a
// source file of that name or has that line ("prober.go:88"), or if its fingerprint starts with
// the query (its digits are enough). Cases match by title, sentence, process, host, ticket or the
// name of a bundle.
//
// Words are separated by blanks, match anywhere in a name and ignore case. "*" and "(" are
// ordinary characters: "prober.(*worker).run" is one word.
//
// offset skips as many matches of each.
func (s *Store) SearchFunctions(ctx context.Context, query string, aliases Aliases, limit, offset int) (out SearchResult, err error) {
	words := splitQuery(s.engine.lower(query))
	if len(words) == 0 || limit <= 0 {
		return out, nil
	}
	list, err := json.Marshal(words)
	if err != nil {
		return out, err
	}
	pairs, err := s.indexedWords(words, aliases)
	if err != nil {
		return out, err
	}
	err = s.read(ctx, "searching", func(tx *sql.Tx) error {
		if out.Families, err = s.searchFamilies(ctx, tx, pairs, limit, max(offset, 0)); err != nil {
			return err
		}
		if out.Cases, err = collect(ctx, tx, scanCountedCase, searchCasesSQL, string(list), limit, max(offset, 0)); err != nil {
			return err
		}
		out.Processes, err = collect(ctx, tx, scanProcess, searchProcessesSQL, string(list), limit, max(offset, 0))
		return err
	})
	return out, err
}

// splitQuery splits a query in small letters.
//
//	"prober  worker prober"  ->  ["prober", "worker"]
func splitQuery(query string) []string {
	var out []string
	for _, word := range strings.Fields(strings.ReplaceAll(query, "\x00", " ")) {
		word = strings.ToValidUTF8(word[:min(len(word), maxWord)], "")
		if word != "" && len(out) < maxWords && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// indexedWords encodes the words of a query for the words of the engine: each with its pattern,
// itself or an alias as the name to find, and the file and the line that it means.
func (s *Store) indexedWords(words []string, aliases Aliases) (string, error) {
	rows := [][5]string{}
	for _, word := range words {
		file, line := "", "0"
		if before, after, ok := strings.Cut(word, ":"); ok && strings.Contains(before, ".") && isNumber(after) {
			file, line = before, after
		}
		rows = append(rows, [5]string{word, s.engine.pattern(word), word, file, line})
		if aliases == nil {
			continue
		}
		also := aliases(word)
		for _, name := range also[:min(len(also), mostAliases)] {
			name = s.engine.lower(strings.ReplaceAll(name, " ", "\n")) // as the words of a title stand
			rows = append(rows, [5]string{word, s.engine.pattern(name), name, "", "0"})
		}
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// isNumber reports the number of a line.
func isNumber(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0 && n <= math.MaxInt32
}

// trigrams returns the full-text expression for rows with all trigrams of a word; "" if it
// has none.
//
//	"a(b\"" = `"a(b" "(b"""`
func trigrams(word string) string {
	var out []string
	for letters := []rune(word); len(letters) >= 3; letters = letters[1:] {
		out = append(out, `"`+strings.ReplaceAll(string(letters[:3]), `"`, `""`)+`"`)
	}
	return strings.Join(out, " ")
}

// The full-text tables find rows with all trigrams of a word, in any order. Words without a
// trigram are compared with every name. Eight digits of a fingerprint are enough. A word
// with the suffix of a source file also finds the families with a function in such a file, one
// with a line those with a function that has it: stacks are packed, so that it may be another one
// of its lines that they show.
const matchedFamiliesSQL = `
WITH word (w, trigrams, name, file, line) AS MATERIALIZED (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS INTEGER)
    FROM json_each(?1)
),
hit (w, family_seq) AS (
    SELECT word.w, ff.family_seq
    FROM word
    CROSS JOIN function_text t
    CROSS JOIN function_family ff ON ff.function_seq = t.rowid
    WHERE word.trigrams <> '' AND t.function_text MATCH word.trigrams AND instr(unicode_lower(CAST(t.name AS BLOB)), word.name) > 0
    UNION
    SELECT word.w, t.rowid
    FROM word
    CROSS JOIN family_text t
    WHERE word.trigrams <> '' AND t.family_text MATCH word.trigrams AND instr(unicode_lower(CAST(t.words AS BLOB)), word.name) > 0
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    CROSS JOIN function ON instr(unicode_lower(function.name), word.name) > 0
    CROSS JOIN function_family ff ON ff.function_seq = function.seq
    WHERE word.trigrams = ''
    UNION
    SELECT word.w, family.seq
    FROM word
    CROSS JOIN family ON instr(unicode_lower(family.words), word.name) > 0
    WHERE word.trigrams = ''
    UNION
    SELECT word.w, family.seq
    FROM word
    CROSS JOIN family ON family.fingerprint >= word.w AND family.fingerprint < word.w || '~'
    WHERE word.w GLOB '[gtdwo][0-9]*:*'
    UNION
    SELECT word.w, family.seq
    FROM word
    CROSS JOIN json_each('["g","t","d","w","o"]') kind
    CROSS JOIN json_each('[1,2,3,4,5,6,7,8,9]') version
    CROSS JOIN family ON family.fingerprint >= kind.value || version.value || ':' || word.w
                     AND family.fingerprint < kind.value || version.value || ':' || word.w || '~'
    WHERE length(word.w) >= 8 AND word.w NOT GLOB '*[^0-9a-f]*'
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    CROSS JOIN frame ON instr(lower(frame.file), word.w) > 0
    CROSS JOIN function_family ff ON ff.function_seq = frame.function_seq
    WHERE word.w GLOB '*.go' OR word.w GLOB '*.[sc]' OR word.w GLOB '*.java' OR word.w GLOB '*.kt' OR word.w GLOB '*.scala'
       OR word.w GLOB '*.groovy' OR word.w GLOB '*.[jt]s' OR word.w GLOB '*.[cm]js'
    UNION
    SELECT word.w, ff.family_seq
    FROM word
    CROSS JOIN frame ON frame.line = word.line AND substr('/' || lower(frame.file), -length(word.file) - 1) = '/' || word.file
    CROSS JOIN function_family ff ON ff.function_seq = frame.function_seq
    WHERE word.file <> ''
),
matched (family_seq) AS MATERIALIZED (
    SELECT family_seq
    FROM hit
    GROUP BY family_seq
    HAVING count(*) = (SELECT count(DISTINCT w) FROM word)
)`

// It follows the words of the engine.
const searchFamiliesSQL = `
SELECT max(f.seq), count(DISTINCT fs.case_seq), sum(fs.snapshots), max(fs.high), max(fs.last)
FROM matched
CROSS JOIN family f ON f.seq = matched.family_seq
CROSS JOIN family_seen fs ON fs.family_seq = f.seq
WHERE fs.case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '')
GROUP BY f.fingerprint
ORDER BY max(fs.last) IS NULL, max(fs.last) DESC, max(fs.high) DESC, f.fingerprint
LIMIT ?2 OFFSET ?3`

func (s *Store) searchFamilies(ctx context.Context, tx *sql.Tx, words string, limit, offset int) ([]FamilyHit, error) {
	type row struct {
		seq int64
		hit FamilyHit
	}
	rows, err := collect(ctx, tx, func(rows *sql.Rows) (r row, err error) {
		var seen sql.NullInt64
		err = rows.Scan(&r.seq, &r.hit.Cases, &r.hit.Snapshots, &r.hit.Highest, &seen)
		r.hit.LastSeen = timeOrZero(seen)
		return r, err
	}, s.engine.words()+searchFamiliesSQL, words, limit, offset)
	if err != nil {
		return nil, err
	}
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.seq
	}
	l := newLoader(tx)
	if err := l.loadFamilies(ctx, seqs); err != nil {
		return nil, err
	}
	var out []FamilyHit
	prints := make([]string, 0, len(rows))
	for _, r := range rows {
		r.hit.Family = *l.families[r.seq].family
		out, prints = append(out, r.hit), append(prints, r.hit.Family.Fingerprint)
	}
	worst, err := worstEndings(ctx, tx, prints)
	for i := range out {
		out[i].Verdict = worst[out[i].Family.Fingerprint]
	}
	return out, err
}

// worstEndings returns the worst verdict of families over all series.
func worstEndings(ctx context.Context, tx *sql.Tx, prints []string) (map[string]string, error) {
	list, err := json.Marshal(prints)
	if err != nil {
		return nil, err
	}
	worst := map[string]string{}
	_, err = collect(ctx, tx, func(rows *sql.Rows) (none struct{}, err error) {
		var print, verdict string
		err = rows.Scan(&print, &verdict)
		if had := worst[print]; had == "" || analysis.Verdict(verdict).Rank() < analysis.Verdict(had).Rank() {
			worst[print] = verdict
		}
		return none, err
	}, worstEndingsSQL, string(list))
	return worst, err
}

const worstEndingsSQL = `
SELECT DISTINCT e.fingerprint, e.verdict
FROM json_each(?1) word
CROSS JOIN ending e ON e.fingerprint = word.value
WHERE e.case_seq NOT IN (SELECT seq FROM cases WHERE deleting <> '')`

const searchCasesSQL = countedColumns + `
WHERE c.deleting = '' AND NOT EXISTS (
    SELECT 1 FROM json_each(?1) word
    WHERE instr(unicode_lower(c.title || '
' || c.headline || '
' || c.process || '
' || c.host), word.value) = 0 AND NOT EXISTS (
        SELECT 1 FROM case_field f
        WHERE f.case_seq = c.seq AND f.field = 'ticket' AND instr(unicode_lower(f.value), word.value) > 0)
      AND NOT EXISTS (
        SELECT 1 FROM bundle b
        WHERE b.case_seq = c.seq AND instr(unicode_lower(b.name), word.value) > 0)
)
ORDER BY c.created_at DESC, c.seq DESC
LIMIT ?2 OFFSET ?3`

// Names are compared once for each process of a case, not for every snapshot. The count of
// snapshots covers only the returned processes and uses the index snapshot_by_series alone.
const searchProcessesSQL = `
WITH named (process, host, cases) AS MATERIALIZED (
    SELECT p.process, p.host, count(*)
    FROM series p
    WHERE NOT EXISTS (
        SELECT 1 FROM json_each(?1) word
        WHERE instr(unicode_lower(p.process || ' ' || p.host), word.value) = 0
    ) AND EXISTS (
        SELECT 1 FROM snapshot s
        CROSS JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
        WHERE s.series_seq = p.seq)
    GROUP BY p.process, p.host
    ORDER BY count(*) DESC, p.process, p.host
    LIMIT ?2 OFFSET ?3
)
SELECT named.host, named.process, named.cases, (
    SELECT count(DISTINCT s.id)
    FROM series r
    CROSS JOIN snapshot s ON s.series_seq = r.seq
    CROSS JOIN bundle b ON b.seq = s.bundle_seq AND b.generation = s.generation
    WHERE r.process = named.process AND r.host = named.host),
    coalesce(c.headline, ''), coalesce(c.verdict, ''), coalesce(c.state, ''), coalesce(c.spark, '[]'), coalesce(c.lower, '[]'), coalesce(c.aside, 0)
FROM named
LEFT JOIN cases c ON c.seq = (
    SELECT max(k.seq)
    FROM series r
    JOIN cases k ON k.seq = r.case_seq AND instr(', ' || k.process || ',', ', ' || r.process || ',') > 0 AND instr(', ' || k.host || ',', ', ' || r.host || ',') > 0
    WHERE r.process = named.process AND r.host = named.host AND k.deleting = '')
ORDER BY named.cases DESC, named.process, named.host`

func scanProcess(rows *sql.Rows) (p ProcessHit, err error) {
	var spark, lower string
	if err := rows.Scan(&p.Host, &p.Name, &p.Cases, &p.Snapshots, &p.Latest.Headline, &p.Latest.Verdict, &p.Latest.State, &spark, &lower, &p.Latest.Aside); err != nil {
		return p, err
	}
	return p, errors.Join(json.Unmarshal([]byte(spark), &p.Latest.Spark), json.Unmarshal([]byte(lower), &p.Latest.Lower))
}
