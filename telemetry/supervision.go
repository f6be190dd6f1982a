package telemetry

import (
	"errors"

	"mcpd/internal/fault"
	"mcpd/supervisor/otp"
)

// Supervision returns a function for the events of an otp.System. Locate maps the path of a row
// to its tenant, server and session, so that a crash can be found by any of them. A nil locate
// maps none.
func Supervision(emit Sink, locate func(path string) Where) func(otp.Event) {
	return func(e otp.Event) {
		var w Where
		if locate != nil {
			w = locate(e.Where())
		}
		w.Path = e.Where()
		// The caller was told the incident of the report.
		if exit, ok := e.(otp.ChildExited); ok && exit.Report != nil &&
			(len(exit.Report.PCs) > 0 || errors.Is(exit.Reason, otp.ErrStuck)) {
			w.Incident = exit.Report.Incident()
		}
		if hit, ok := faultOf(e, w); ok {
			emit(hit)
		}
		if event := supervision(e, w); event != nil {
			emit(event)
		}
	}
}

// TransientLabel is the label of supervisors that come and go with their children, so that their
// end is no news for an operator.
const TransientLabel = "key"

func supervision(e otp.Event, w Where) Event {
	switch e := e.(type) {
	case otp.ChildStarted:
		return ChildStarted{Where: w, Class: e.Label, Incarnation: e.Incarnation}
	case otp.ChildExited:
		if otp.IsNormal(e.Reason) {
			return ChildExited{Where: w, Class: e.Label, Incarnation: e.Incarnation, Reason: text(e.Reason)}
		}
		w.Routine = reportedItself(e.Reason)
		return ChildCrashed{
			Where: w, Class: e.Label, Incarnation: e.Incarnation, Reason: why(e.Reason, e.Report),
			Injected: injected(e.Reason).ID, Report: e.Report,
		}
	case otp.ChildRestarted:
		w.Routine = reportedItself(e.Reason)
		return ChildRestarted{
			Where: w, Class: e.Label, Incarnation: e.Incarnation,
			Restarts: e.Restarts, InPlace: e.InPlace, Took: e.Took,
		}
	case otp.StartFailed:
		return StartFailed{Where: w, Class: e.Label, Reason: why(e.Reason, e.Report), Report: e.Report}
	case otp.IntensityExceeded:
		out := IntensityExceeded{Where: w}
		if e.Err != nil {
			out.Child, out.Reason = e.Err.Child, why(e.Err.Reason, nil)
			out.Restarts, out.Within = Count(e.Err.Intensity.Restarts), e.Err.Intensity.Within
		}
		return out
	case otp.ChildPaused:
		return ChildPaused{Where: w, Class: e.Label, Reason: why(e.Reason, nil), For: e.For}
	case otp.CrashCharged:
		w.Tenant = e.Origin
		return CrashCharged{Where: w, Class: e.Label, Times: Count(e.Times), Reason: why(e.Reason, nil)}
	case otp.SupervisorStopped:
		if e.Label == TransientLabel {
			return nil // ChildExited reports it too
		}
		// A supervisor that its parent stops is a part of the parent's end, which is reported with its
		// reason.
		w.Routine = e.Reason == nil || e.Reason == otp.Normal || e.Reason == otp.ErrShutdown
		return SupervisorStopped{Where: w, Reason: text(e.Reason)}
	case otp.Abandoned:
		return Abandoned{Where: w, Class: e.Label, Goroutine: e.Goroutine, Budget: e.Budget}
	case otp.Stuck:
		return ActorStuck{Where: w, Class: e.Label, For: e.For, Report: e.Report}
	case otp.Overloaded:
		return Overloaded{Where: w, Class: e.Label, Mailbox: Count(e.Mailbox)}
	case otp.StateDropped:
		return StateDropped{
			Where: w, Class: e.Label, Incarnation: e.Incarnation, Part: "all", Reason: e.Reason, Count: 1,
		}
	case otp.TerminatePanicked:
		return TerminatePanicked{Where: w, Class: e.Label, Report: e.Report}
	}
	return nil
}

// reportedItself reports whether the row itself has reported its end in an event of its own. An
// error that says so has a method Told. The end and the restart of such a row are debug lines, so
// that the log reports each end once.
func reportedItself(reason error) bool {
	by, ok := errors.AsType[interface {
		error
		Told() bool
	}](reason)
	return ok && by.Told()
}

// faultOf returns the event of the fault that caused an exit, if a fault did.
func faultOf(e otp.Event, w Where) (FaultHit, bool) {
	exit, ok := e.(otp.ChildExited)
	if !ok {
		return FaultHit{}, false
	}
	i := injected(exit.Reason)
	return FaultHit{Where: w, Fault: i.ID, Action: string(i.Action)}, i.ID != ""
}

func injected(reason error) (i fault.Injected) {
	errors.As(reason, &i)
	return i
}

// why returns the innermost text of a reason. The text of a report repeats the path, which the
// line has already.
func why(reason error, report *otp.CrashReport) string {
	if report == nil {
		errors.As(reason, &report)
	}
	if report != nil && report.Reason != nil {
		return report.Reason.Error()
	}
	return text(reason)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
