package stdio

import "time"

// pace holds up whoever empties a pipe of what nobody waits for: paceMost steps in a paceSpan. Who floods the host waits that long, and takes no core from
// anybody else.
type pace struct {
	steps int
	began time.Time // the first of them
}

// spare lets so many steps more pass at once.
func (p *pace) spare(steps int) { p.steps = -steps }

// step counts one, and waits if that is too many.
func (p *pace) step() {
	if p.steps <= 0 {
		p.began = time.Now()
	}
	if p.steps++; p.steps == paceMost {
		time.Sleep(paceSpan - time.Since(p.began))
		p.steps = 0
	}
}
