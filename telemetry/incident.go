package telemetry

import (
	"strings"
	"time"

	"mcpd/supervisor/otp"
)

const (
	// incidentQuiet is how long a row must have no events until its incident is over. It is longer
	// than the restart windows of the tree, so that one crash loop is one incident.
	incidentQuiet = 2 * time.Minute
	// maxIncidents bounds the number of incidents that are known at once. If more rows are in
	// trouble at the same time, they have one cause, and its events are kept.
	maxIncidents = 1024
)

// incidents assigns one ID to the events of one run of trouble at one row of the tree, so that
// one search in the log finds them all.
type incidents map[string]incident // by path

type incident struct {
	id   string
	last time.Time
}

// record records the incident of an event that carries its ID. Later events at the same path
// belong to the same incident.
func (in incidents) record(path, id string, now time.Time) string {
	if path != "" {
		in[path] = incident{id, now}
		in.trim(now)
	}
	return id
}

// of returns the ID of the incident that an event at path belongs to, or "". If there is no
// incident and opens is true, the event opens one. A supervisor shares the incident of the row
// below it that was in trouble last.
func (in incidents) of(path string, opens bool, now time.Time) string {
	if path == "" {
		return ""
	}
	found, ok := in[path]
	if ok && now.Sub(found.last) > incidentQuiet {
		delete(in, path)
		ok = false
	}
	if !ok {
		found, ok = in.below(path, now)
	}
	if !ok {
		if !opens {
			return ""
		}
		found.id = otp.IncidentID(path, now)
	}
	found.last = now
	in[path] = found
	in.trim(now)
	return found.id
}

func (in incidents) below(path string, now time.Time) (incident, bool) {
	var latest incident
	for p, i := range in {
		if strings.HasPrefix(p, path+"/") && now.Sub(i.last) <= incidentQuiet &&
			i.last.After(latest.last) {
			latest = i
		}
	}
	return latest, latest.id != ""
}

func (in incidents) trim(now time.Time) {
	if len(in) <= maxIncidents {
		return
	}
	oldest, last := "", now
	for p, i := range in {
		if now.Sub(i.last) > incidentQuiet {
			delete(in, p)
		} else if !i.last.After(last) {
			oldest, last = p, i.last
		}
	}
	if len(in) > maxIncidents {
		delete(in, oldest)
	}
}
