package supervisor

import (
	"sync"
	"time"

	"mcpd/gateway/quota"
)

// lineRate limits the lines of one server that go to the log. It applies separately to its standard
// error and to lines on its standard output that are no messages. Some stack traces pass at once,
// and then as many lines as a person can still follow. Further lines are counted and reported with
// the next line that passes.
var lineRate = quota.Rate{Every: time.Second / 50, Burst: 500}

// maxSample is how much of a line is passed on, in bytes.
const maxSample = 256

// lineLimiter rate-limits one kind of lines of one server, from all its instances.
type lineLimiter struct {
	report func(count uint32, sample string)

	mu     sync.Mutex // guards the fields below: old and new instances overlap
	bucket quota.Bucket
	count  uint32 // not reported yet
}

func (l *lineLimiter) line(now time.Time, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	if l.bucket.Take(now, lineRate) > 0 {
		return
	}
	l.report(l.count, text[:min(len(text), maxSample)])
	l.count = 0
}
