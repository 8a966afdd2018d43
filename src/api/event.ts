/** Events, by which movers and loops tell people what happens. */
import type { ResourceType } from './meta.ts'

export const events: ResourceType = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
