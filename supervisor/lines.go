package supervisor

import (
	"sync"
	"time"

	"mcpd/gateway/quota"
)

// lineRate bounds the lines of one server that the log gets beside its messages: some stack traces at once, and then what a person can still
// follow. What is more is counted with the next one that passes.
var lineRate = quota.Rate{Every: time.Second / 50, Burst: 500}

// maxSample is how much of a line is passed on, in bytes.
const maxSample = 256

// lines are those of one server, whatever instance of it writes them.
type lines struct {
	tell func(count uint32, sample string)

	mu     sync.Mutex // guards what follows: old and new instances overlap
	bucket quota.Bucket
	count  uint32 // not told of
}

func (l *lines) line(now time.Time, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if l.bucket.Take(now, lineRate) > 0 {
		return
	}
	l.tell(l.count, text[:min(len(text), maxSample)])
	l.count = 0
}
