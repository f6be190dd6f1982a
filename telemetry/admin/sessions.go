package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

const (
	// defaultSessions is how many sessions are listed unless ?limit= says otherwise.
	defaultSessions = 1000
	maxSessions     = 10000 // about four megabytes of answer
)

// sessions lists the sessions of all tenants or of one, most recently used first.
func (h *handler) sessions(w http.ResponseWriter, r *http.Request) {
	limit, ok := limitParam(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	tenant, one := query.Get("tenant"), query.Has("tenant")
	var found []*mcpdv1.Session
	if h.Sessions != nil {
		for s := range h.Sessions() {
			if !one || s.GetTenant() == tenant {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b *mcpdv1.Session) int {
		return cmp.Or(b.GetLastUsed().AsTime().Compare(a.GetLastUsed().AsTime()),
			cmp.Compare(a.GetId(), b.GetId()))
	})
	body := &mcpdv1.SessionList{Total: uint32(len(found)), Sessions: found[:min(limit, len(found))]}
	for i, s := range body.Sessions {
		body.Sessions[i] = cleaned(s)
	}
	answer(w, http.StatusOK, body)
}

func limitParam(w http.ResponseWriter, r *http.Request) (int, bool) {
	raw := r.URL.Query().Get("limit")
	if raw == "" {
		return defaultSessions, true
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > maxSessions {
		problem(w, http.StatusBadRequest, "limit out of range", "use 1 to "+strconv.Itoa(maxSessions))
		return 0, false
	}
	return n, true
}

// cleaned returns a copy in which the texts of the client are safe to show.
func cleaned(s *mcpdv1.Session) *mcpdv1.Session {
	out := proto.CloneOf(s)
	for _, word := range []*string{&out.Id, &out.Tenant, &out.Server, &out.Principal, &out.ClientName,
		&out.ClientVersion} {
		*word = telemetry.Clean(*word, telemetry.MaxValue)
	}
	return out
}
