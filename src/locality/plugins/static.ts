/** The plugin `static`: locates data from a list in the configuration, for systems without an API. */
import { defined } from '../../base/json.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { clusterName, text } from '../config/schema.ts'
import type { LocalityAnswer, LocalityPlugin, LocalityQuery } from '../locality.ts'

interface StaticSource {
  /** Absent for any type. */
  type?: string
  name: string
  location: string
  clusters?: string[]
  bytes?: number
}

export const staticSystem: SystemDefinition = {
  endpoint: 'none',
  auth: ['none'],
  extra: {
    sources: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'location'],
        properties: {
          type: text,
          name: text,
          location: text,
          clusters: { type: 'array', items: clusterName },
          bytes: { type: 'integer', minimum: 0 },
        },
      },
    },
  },
  open: openStatic,
}

function openStatic({ system, extra }: SystemConfig): LocalityPlugin {
  const sources = (extra['sources'] ?? []) as StaticSource[]
  return {
    system,
    locate: async (query) => answer(sources, query),
    health: async () => undefined,
    close: async () => undefined,
  }
}

/** The first source with the name and type of the query. */
function answer(sources: readonly StaticSource[], { type, name }: LocalityQuery): LocalityAnswer {
  const source = sources.find((one) => one.name === name && (one.type === undefined || one.type === type))
  if (source === undefined) return { kind: 'nowhere', reason: `the configuration lists no ${type} ${name}` }
  const { location, clusters, bytes } = source
  return defined({ kind: 'located', location, clusters, bytes })
}
