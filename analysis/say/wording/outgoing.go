package wording

import "slices"

// Those to whom a server makes requests of its own.
const (
	ItsDatabase   = "its database"
	ItsBucket     = "the bucket of its uploads"
	AlertsWebhook = "a webhook for alerts"
)

// Outgoing says to whom a server makes requests of its own.
func Outgoing(to []string) string {
	if len(to) == 0 {
		return "This server makes no outgoing requests."
	}
	return "This server makes outgoing requests only to " + List(to, len(to)) + "."
}

// DataGoes says where uploads go, and what is read from them.
func DataGoes(to []string) string {
	database, bucket := slices.Contains(to, ItsDatabase), slices.Contains(to, ItsBucket)
	place := "Onto the disk of this server"
	switch {
	case database && bucket:
		place = "Into the database and the bucket of this server"
	case database:
		place = "Onto the disk and into the database of this server"
	case bucket:
		place = "Onto the disk and into the bucket of this server"
	}
	if len(to) == 0 {
		return place + " and nowhere else. It makes no outgoing requests."
	}
	return place + ". It makes outgoing requests only to " + List(to, len(to)) + "."
}
