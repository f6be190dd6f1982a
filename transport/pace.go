package transport

import "time"

// So many parts of what is no message are read in so short a time: 4,000 in a second, and 16 MB.
const (
	PaceMost = 16
	PaceSpan = 4 * time.Millisecond
	PacePart = 4 << 10 // bytes of what is longer
)

// Pace holds up whoever reads what nobody waits for: lines that are no messages, comments, standard error. Who floods the host waits that long, and takes
// no core from anybody else (docs/adr/0027).
type Pace struct {
	steps int
	began time.Time // the first of them
}

// Spare lets so many parts more pass at once.
func (p *Pace) Spare(parts int) { p.steps = -parts }

// Step counts a part, and waits if that is too many.
func (p *Pace) Step() {
	if p.steps <= 0 {
		p.began = time.Now()
	}
	if p.steps++; p.steps == PaceMost {
		time.Sleep(PaceSpan - time.Since(p.began))
		p.steps = 0
	}
}

// Bytes counts something of that length, and waits if that is too much.
func (p *Pace) Bytes(length int) {
	for range 1 + length/PacePart {
		p.Step()
	}
}
