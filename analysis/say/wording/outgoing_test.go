package wording

import "testing"

func TestAServerSaysWhereDataGoes(t *testing.T) {
	for _, c := range []struct {
		to         []string
		data, sent string
	}{
		{nil, "Onto the disk of this server and nowhere else. It makes no outgoing requests.", "This server makes no outgoing requests."},
		{[]string{AlertsWebhook}, "Onto the disk of this server. It makes outgoing requests only to a webhook for alerts.", "This server makes outgoing requests only to a webhook for alerts."},
		{[]string{ItsDatabase}, "Onto the disk and into the database of this server. It makes outgoing requests only to its database.", "This server makes outgoing requests only to its database."},
		{[]string{ItsBucket}, "Onto the disk and into the bucket of this server. It makes outgoing requests only to the bucket of its uploads.", "This server makes outgoing requests only to the bucket of its uploads."},
		{[]string{ItsDatabase, ItsBucket, AlertsWebhook}, "Into the database and the bucket of this server. It makes outgoing requests only to its database, the bucket of its uploads and a webhook for alerts.",
			"This server makes outgoing requests only to its database, the bucket of its uploads and a webhook for alerts."},
	} {
		if got := DataGoes(c.to); got != c.data {
			t.Errorf("%v: %q, want %q", c.to, got, c.data)
		}
		if got := Outgoing(c.to); got != c.sent {
			t.Errorf("%v: %q, want %q", c.to, got, c.sent)
		}
	}
}
