package telemetry

import (
	"reflect"
	"time"
)

// eventSource is the contribution of one kind of event to an instrument.
type eventSource struct {
	event reflect.Type
	value func(Event) (value float64, labels []string, ok bool)
}

// countOf adds one for each event of type E.
func countOf[E Event](labels func(E) []string) eventSource {
	return valueOf(func(e E) (float64, []string) { return 1, labels(e) })
}

// valueOf adds a value of each event of type E. A gauge is set to the value instead.
func valueOf[E Event](value func(E) (float64, []string)) eventSource {
	return eventSource{reflect.TypeFor[E](), func(e Event) (float64, []string, bool) {
		v, labels := value(e.(E))
		return v, labels, true
	}}
}

// duration observes a duration. Zero means that there is none to observe.
func duration[E Event](value func(E) (time.Duration, []string)) eventSource {
	return eventSource{reflect.TypeFor[E](), func(e Event) (float64, []string, bool) {
		d, labels := value(e.(E))
		return d.Seconds(), labels, d > 0
	}}
}
