/** Whether this replica is the leader, for the parts that write only then. The election sets it. */
import type { Clock } from '../base/time/clock.ts'
import type { Leadership } from './leader.ts'

export interface CurrentLeadership {
  leadership: Leadership
  /** Since when, by the monotonic clock of the process, in ms. */
  sinceMs: number
}

export interface LeadershipState {
  /** Returns undefined while another replica is the leader. */
  current(): CurrentLeadership | undefined
  begin(leadership: Leadership): void
  end(): void
  /** Calls `changed` after each change. */
  subscribe(changed: () => void): void
}

export function openLeadershipState(clock: Pick<Clock, 'now'>): LeadershipState {
  const listeners: (() => void)[] = []
  let current: CurrentLeadership | undefined
  function set(next: CurrentLeadership | undefined): void {
    current = next
    for (const changed of listeners) changed()
  }
  return {
    current: () => current,
    begin: (leadership) => set({ leadership, sinceMs: clock.now() }),
    end: () => set(undefined),
    subscribe: (changed) => void listeners.push(changed),
  }
}
