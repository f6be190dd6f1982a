package quota_test

import (
	"fmt"
	"time"

	"mcpd/gateway/quota"
)

func Example() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rate := quota.Rate{Every: time.Second, Burst: 2}
	var b quota.Bucket
	fmt.Println(b.Take(now, rate), b.Take(now, rate), b.Take(now, rate))
	// Output:
	// 0s 0s 1s
}
