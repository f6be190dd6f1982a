package storage

import (
	"crypto/sha256"
	"errors"
	"runtime"
	"slices"
	"sync"

	"mcpd/internal/fault"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// MaxAside is how many records are kept in store.Aside, and listed. Further ones are deleted.
const MaxAside = 64

// errUnfinished is the reason for a record that an incarnation began to read and never finished.
var errUnfinished = errors.New("reading it did not come to an end")

// Restorer reads the records that an earlier host has stored, one at a time. A record on which its
// reader panics is set aside: it is moved to store.Aside, where it is not read again, and reported.
// So a bad record is lost, but never prevents the start of the row that reads it. A Restorer
// outlives actors. Its methods may be called on nil, which sets nothing aside, and concurrently.
type Restorer struct {
	o RestorerOptions

	mu       sync.Mutex // guards what follows
	room     int        // how many more records fit into store.Aside
	begun    map[digest]bool
	aside    map[digest]bool
	records  []Record
	finished map[string]bool
}

// RestorerOptions configure a Restorer.
type RestorerOptions struct {
	// Aside is how many records earlier hosts have set aside.
	Aside  int
	Faults *fault.Registry
	Emit   telemetry.Sink
}

// Record is a record that was set aside.
type Record struct {
	Kind, Tenant, Name string
	Incident           string
}

// digest identifies one version of a record.
type digest [sha256.Size]byte

// NewRestorer makes a Restorer.
func NewRestorer(o RestorerOptions) *Restorer {
	return &Restorer{
		o: o, room: MaxAside - o.Aside,
		begun: map[digest]bool{}, aside: map[digest]bool{}, finished: map[string]bool{},
	}
}

// Reading describes a record that is about to be read.
type Reading struct {
	store.Change
	Kind    string        // as in telemetry.RecordSetAside
	Name    string        // name for display; the id of a session is secret
	Tenant  func() string // returns the tenant; it may panic as well
	Storage otp.Ref       // the storage
}

// Due reports whether a row still has to read all records of a kind. If its first incarnation did
// not become ready, the row reads them again, except the record that it did not finish.
func (r *Restorer) Due(p *otp.Process, kind string) bool {
	if r == nil {
		return p.Incarnation() == 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.finished[kind]
}

// Finish notes that all records of a kind were read.
func (r *Restorer) Finish(kind string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished[kind] = true
}

// Read runs read, which reads a record. It reports false when the record was set aside, by this
// call or before.
func (r *Restorer) Read(p *otp.Process, of Reading, read func()) (ok bool) {
	if r == nil {
		read()
		return true
	}
	key := sha256.Sum256(slices.Concat([]byte(of.Bucket), []byte{0}, []byte(of.Key),
		[]byte{0}, of.Value))
	r.mu.Lock()
	aside, again := r.aside[key], r.begun[key]
	r.begun[key] = true
	r.mu.Unlock()
	if aside {
		return false
	}
	tenant := ""
	defer func() {
		switch v := recover(); {
		case v != nil:
			r.setAside(p, key, of, tenant, v, callers())
			ok = false
		case ok:
			r.end(key)
		}
	}()
	tenant = of.Tenant()
	if again {
		r.setAside(p, key, of, tenant, errUnfinished, nil)
		return false
	}
	if e := r.o.Faults.At(p.Context(), fault.StoreRead,
		fault.Who{Tenant: tenant}); e.Action == fault.Panic {
		panic(e)
	}
	read()
	return true
}

// end notes that the record was read to the end.
func (r *Restorer) end(key digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.begun, key)
}

// setAside moves a record to store.Aside and reports it.
func (r *Restorer) setAside(p *otp.Process, key digest, of Reading, tenant string, why any,
	pcs []uintptr) {
	report := &otp.CrashReport{
		Path: p.Path(), Incarnation: p.Incarnation(), PCs: pcs, Origin: tenant, At: p.Now(),
	}
	if err, is := why.(error); is {
		report.Reason = err
	} else {
		report.Reason = &otp.PanicError{Value: why}
	}
	incident := otp.IncidentID(p.Path()+"/"+of.Kind+"/"+of.Name, p.Now())
	r.mu.Lock()
	if delete(r.begun, key); r.aside[key] { // an incarnation that was stuck at it has returned
		r.mu.Unlock()
		return
	}
	r.aside[key] = true
	if len(r.records) < MaxAside {
		r.records = append(r.records, Record{of.Kind, tenant, of.Name, incident})
	}
	room := r.room > 0
	if room {
		r.room--
	}
	r.mu.Unlock()
	if room {
		moved := store.Change{Bucket: store.Aside, Key: string(of.Bucket) + " " + of.Key, Value: of.Value}
		_ = p.Send(of.Storage, &Keep{Tenant: tenant, Change: moved})
	}
	_ = p.Send(of.Storage, &Keep{Tenant: tenant, Change: store.Change{Bucket: of.Bucket, Key: of.Key}})
	r.o.Emit(telemetry.RecordSetAside{
		Where: telemetry.Where{Tenant: tenant, Path: p.Path(), Incident: incident},
		Kind:  of.Kind, Name: of.Name, Reason: report.Reason.Error(), Report: report,
	})
}

// Aside returns the first MaxAside records that were set aside since the host started.
func (r *Restorer) Aside() []Record {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// callers returns the stack of a panic. The function that recovers from the panic calls it.
func callers() []uintptr {
	var pcs [64]uintptr
	return slices.Clone(pcs[:runtime.Callers(3, pcs[:])])
}
