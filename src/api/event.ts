/** Events, which the loops and movers create for users. */
import type { ResourceType } from './meta.ts'

export const events: ResourceType = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
