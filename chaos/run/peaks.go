package run

import (
	"cmp"
	"slices"
	"sync"

	"mcpd/chaos/record"
)

// peaks are the highest observed values of the holdings. It is safe for concurrent use.
type peaks struct {
	mu     sync.Mutex // guards the fields below
	values map[string]float64
	high   map[string][2]float64 // of queues, by kind: high-water mark and limit
}

func newPeaks() *peaks {
	return &peaks{values: map[string]float64{}, high: map[string][2]float64{}}
}

// see records the values of a scrape.
func (p *peaks) see(s scrape) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, row := range held {
		v, _ := s.sum(row.metric)
		p.values[row.name] = max(p.values[row.name], v)
	}
	for i, metric := range []string{"mcpd_queue_high_water", "mcpd_queue_limit"} {
		for _, x := range s.samples(metric) {
			q := p.high[x.label("queue")]
			q[i] = max(q[i], x.value)
			p.high[x.label("queue")] = q
		}
	}
}

func (p *peaks) value(name string) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.values[name]
}

// queues returns the host's queues, each with its high-water mark and limit.
func (p *peaks) queues() (list []record.Holding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, q := range p.high {
		list = append(list, record.Holding{Name: "queue " + name, Peak: q[0], Limit: q[1]})
	}
	slices.SortFunc(list, func(a, b record.Holding) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
