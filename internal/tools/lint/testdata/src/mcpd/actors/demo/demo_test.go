package demo

import "time"

func wait() { time.Sleep(1) }
