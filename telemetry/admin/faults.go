package admin

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"mcpd/internal/fault"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// maxBody bounds the bytes that are read of a request. A fault has some hundred bytes.
const maxBody = 16 << 10

func (h *handler) listFaults(w http.ResponseWriter, _ *http.Request) {
	body := new(mcpdv1.FaultList)
	for _, s := range h.Faults.Active() {
		body.Faults = append(body.Faults, describeFault(s))
	}
	answer(w, http.StatusOK, body)
}

func (h *handler) armFault(w http.ResponseWriter, r *http.Request) {
	var ask mcpdv1.ArmFault
	if !body(w, r, &ask) {
		return
	}
	if h.Production() && !ask.GetMeant() {
		problem(w, http.StatusForbidden, "this host is in production",
			`break another host, or send "meant": true to confirm this one`)
		return
	}
	f := fault.Fault{
		Action: fault.Action(ask.GetAction()),
		Point: fault.Point{
			Place: fault.Place(ask.GetPlace()), Path: ask.GetPath(), Kind: ask.GetKind(),
			Who: fault.Who{Tenant: ask.GetTenant(), Server: ask.GetServer(), Session: ask.GetSession()},
		},
		Percent: ask.GetPercent(), Seed: ask.GetSeed(), Delay: ask.GetDelay().AsDuration(),
		Count: int(ask.GetCount()), Lease: ask.GetLease().AsDuration(), Run: ask.GetRun(),
	}
	id, err := h.Faults.Arm(f)
	switch {
	case errors.Is(err, fault.ErrFull):
		problem(w, http.StatusConflict, err.Error(), "disarm some, or wait for their leases")
		return
	case err != nil:
		problem(w, http.StatusBadRequest, telemetry.Clean(err.Error(), telemetry.MaxValue),
			`a fault is {"action": "panic", "path": "mcpd/core/capabilities", "lease": "10s"}; see ArmFault in proto/mcpd/v1/fault.proto; a lease is at most `+fault.MaxLease.String())
		return
	}
	for _, s := range h.Faults.Active() {
		if s.ID == id {
			answer(w, http.StatusCreated, describeFault(s))
			return
		}
	}
	// The fault has struck and is used up already.
	answer(w, http.StatusCreated, describeFault(fault.Status{ID: id, Fault: f, Struck: f.Count}))
}

func (h *handler) renewFault(w http.ResponseWriter, r *http.Request) {
	var ask mcpdv1.RenewFault
	if !body(w, r, &ask) {
		return
	}
	s, err := h.Faults.Renew(r.PathValue("id"), ask.GetLease().AsDuration())
	switch {
	case errors.Is(err, fault.ErrGone):
		problem(w, http.StatusNotFound, "no such fault is armed", "its lease may have ended: arm another")
	case err != nil:
		problem(w, http.StatusBadRequest, err.Error(), `a new lease is {"lease": "10s"}`)
	default:
		answer(w, http.StatusOK, describeFault(s))
	}
}

func (h *handler) disarmFault(w http.ResponseWriter, r *http.Request) {
	if !h.Faults.Disarm(r.PathValue("id")) {
		problem(w, http.StatusNotFound, "no such fault is armed",
			"its lease may have ended, which has the same effect")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// disarmAll disarms the faults of the run in ?run=, or all faults without it.
func (h *handler) disarmAll(w http.ResponseWriter, r *http.Request) {
	h.Faults.DisarmRun(r.URL.Query().Get("run"))
	w.WriteHeader(http.StatusNoContent)
}

func describeFault(s fault.Status) *mcpdv1.Fault {
	p := s.Point
	f := &mcpdv1.Fault{
		Id: s.ID, Action: string(s.Action), Path: p.Path, Kind: p.Kind, Count: uint32(s.Count),
		Hits:  uint32(s.Struck),
		Place: string(p.Place), Tenant: p.Tenant, Server: p.Server, Session: p.Session,
		Percent: s.Percent, Run: s.Run,
	}
	if !s.Until.IsZero() {
		f.Expires = timestamppb.New(s.Until)
	}
	if s.Delay != 0 {
		f.Delay = durationpb.New(s.Delay)
	}
	return f
}

// body parses the JSON of a request. If it is invalid, body answers the request with an error.
func body(w http.ResponseWriter, r *http.Request, into proto.Message) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		problem(w, http.StatusUnsupportedMediaType, "the body is not application/json",
			"set Content-Type")
		return false
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			problem(w, http.StatusRequestEntityTooLarge, "the body is too large",
				"a fault is some hundred bytes")
		} else {
			problem(w, http.StatusBadRequest, "the body ended early", "send the whole body")
		}
		return false
	}
	if err := protojson.Unmarshal(raw, into); err != nil {
		problem(w, http.StatusBadRequest, telemetry.Clean(err.Error(), telemetry.MaxValue),
			"see proto/mcpd/v1/fault.proto")
		return false
	}
	return true
}
