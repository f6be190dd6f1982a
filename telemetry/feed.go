package telemetry

import (
	"reflect"
	"time"
)

// feed is the contribution of one kind of event to an instrument.
type feed struct {
	event reflect.Type
	value func(Event) (value float64, labels []string, ok bool)
}

// countOf adds one for each event of type E.
func countOf[E Event](labels func(E) []string) feed {
	return sumOf(func(e E) (float64, []string) { return 1, labels(e) })
}

// sumOf adds a value of each event of type E. A gauge is set to the value instead.
func sumOf[E Event](value func(E) (float64, []string)) feed {
	return feed{reflect.TypeFor[E](), func(e Event) (float64, []string, bool) {
		v, labels := value(e.(E))
		return v, labels, true
	}}
}

// duration observes a duration. Zero means that there is none to observe.
func duration[E Event](value func(E) (time.Duration, []string)) feed {
	return feed{reflect.TypeFor[E](), func(e Event) (float64, []string, bool) {
		d, labels := value(e.(E))
		return d.Seconds(), labels, d > 0
	}}
}
