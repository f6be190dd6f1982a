package clock

import "time"

func now() time.Time { return time.Now() }

func init() {} // want `init function`
