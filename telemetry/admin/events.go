package admin

import (
	"math"
	"net/http"
	"strconv"
	"time"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// events answers with the remembered events, after a position if the request gives one.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	watch, ok := boolParam(w, r, "watch")
	if !ok {
		return
	}
	after, ok := afterParam(w, r)
	if !ok {
		return
	}
	if watch {
		h.watchEvents(w, r, after)
		return
	}
	body := &mcpdv1.EventList{Dropped: h.Recorder.Dropped()}
	records, first, _ := h.Recorder.Recent().Since(after)
	for i, rec := range records {
		body.Events = append(body.Events, rec.Proto(first+uint64(i)))
	}
	answer(w, http.StatusOK, body)
}

// watchEvents sends the remembered events and then each new one. A reader that comes back with
// the last ID that it saw misses no remembered event.
func (h *handler) watchEvents(w http.ResponseWriter, r *http.Request, after uint64) {
	s, done, ok := h.open(w)
	if !ok {
		return
	}
	defer done()
	if s.write([]byte(":\n\n")) != nil { // the reader sees at once that it is connected
		return
	}
	for {
		records, first, more := h.Recorder.Recent().Since(after)
		for i, rec := range records {
			after = first + uint64(i)
			e := rec.Proto(after)
			if s.send("event", e.GetId(), encode(e)) != nil {
				return
			}
		}
		if !s.wait(r.Context(), more, time.Duration(math.MaxInt64)) {
			return
		}
	}
}

// afterParam returns the position after which a reader wants to continue.
func afterParam(w http.ResponseWriter, r *http.Request) (uint64, bool) {
	raw := r.Header.Get("Last-Event-ID")
	if raw == "" {
		raw = r.URL.Query().Get("after")
	}
	if raw == "" {
		return 0, true
	}
	after, err := strconv.ParseUint(raw, 10, 64)
	if err != nil {
		problem(w, http.StatusBadRequest, "after is not the id of an event",
			"send the id of the last event seen, or nothing")
	}
	return after, err == nil
}
