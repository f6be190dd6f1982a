package admin

import (
	"errors"
	"io"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"mcpd/internal/fault"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// maxBody bounds what is read of a request: a fault is some hundred bytes.
const maxBody = 16 << 10

// actions are the faults that can be asked for by name.
var actions = map[string]fault.Action{
	fault.Panic.String(): fault.Panic,
}

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
	f := fault.Fault{
		Action: actions[ask.GetAction()],
		Point:  fault.Point{Path: ask.GetPath(), Kind: ask.GetKind()},
		Count:  int(ask.GetCount()),
		Lease:  ask.GetLease().AsDuration(),
	}
	id, err := h.Faults.Arm(f)
	switch {
	case errors.Is(err, fault.ErrFull):
		problem(w, http.StatusConflict, err.Error(), "disarm some, or wait for their leases")
		return
	case err != nil:
		problem(w, http.StatusBadRequest, telemetry.Clean(err.Error(), telemetry.MaxValue),
			`a fault is {"action": "panic", "path": "mcpd/core/capabilities", "lease": "10s"}, with kind and count if wanted; a lease is at most `+fault.MaxLease.String())
		return
	}
	h.Recorder.Emit(telemetry.FaultArmed{Fault: id, Action: f.Action.String(), Target: f.Point.Path, Lease: f.Lease})
	for _, s := range h.Faults.Active() {
		if s.ID == id {
			answer(w, http.StatusCreated, describeFault(s))
			return
		}
	}
	// It has struck and is used up already.
	answer(w, http.StatusCreated, &mcpdv1.Fault{Id: id, Action: ask.GetAction(), Path: ask.GetPath(), Kind: ask.GetKind(), Count: ask.GetCount(), Hits: ask.GetCount()})
}

func (h *handler) disarmFault(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !h.disarm(id) {
		problem(w, http.StatusNotFound, "no such fault is armed", "its lease may have ended, which is as good")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) disarmAll(w http.ResponseWriter, _ *http.Request) {
	for _, s := range h.Faults.Active() {
		h.disarm(s.ID)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *handler) disarm(id string) bool {
	if !h.Faults.Disarm(id) {
		return false
	}
	h.Recorder.Emit(telemetry.FaultDisarmed{Fault: id})
	return true
}

func describeFault(s fault.Status) *mcpdv1.Fault {
	return &mcpdv1.Fault{
		Id:      s.ID,
		Action:  s.Action.String(),
		Path:    s.Point.Path,
		Kind:    s.Point.Kind,
		Count:   uint32(s.Count),
		Hits:    uint32(s.Struck),
		Expires: timestamppb.New(s.Until),
	}
}

// body reads a request's JSON, and answers when it is not what is wanted.
func body(w http.ResponseWriter, r *http.Request, into *mcpdv1.ArmFault) bool {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		problem(w, http.StatusUnsupportedMediaType, "the body is not application/json", "set Content-Type")
		return false
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			problem(w, http.StatusRequestEntityTooLarge, "the body is too large", "a fault is some hundred bytes")
		} else {
			problem(w, http.StatusBadRequest, "the body ended early", "send all of it")
		}
		return false
	}
	if err := protojson.Unmarshal(raw, into); err != nil {
		problem(w, http.StatusBadRequest, telemetry.Clean(err.Error(), telemetry.MaxValue), "see ArmFault in proto/mcpd/v1/fault.proto")
		return false
	}
	return true
}
