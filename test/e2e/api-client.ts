// A small Kubernetes API client for the harness: quicker than a kubectl per request, and polling stays cheap.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request as httpRequest } from 'undici'
import { isObject } from '../../src/base/json.ts'
import { eventually } from './poll.ts'

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    [field: string]: unknown
  }
  [field: string]: unknown
}

export interface ApiResponse {
  status: number
  body: unknown
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  object: KubeObject
}

export interface Watch {
  // Throws if the watch ended before.
  stop(): Promise<void>
}

export class ApiError extends Error {
  readonly status: number

  constructor(method: string, path: string, response: ApiResponse) {
    const body = response.body
    const message = isObject(body) && typeof body['message'] === 'string' ? body['message'] : JSON.stringify(body)
    super(`${method} ${path}: ${response.status} ${message}`)
    this.status = response.status
  }
}

export interface ApiClientOptions {
  server: string
  ca: string
  certificate: string
  key: string
}

// The API server chooses the first that it knows: v2 is served since Kubernetes 1.30.
const aggregatedDiscovery = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join()

// As client-go.
const MAX_ATTEMPTS = 10

interface Resource {
  root: string
  plural: string
  names: Set<string>
  gvk: string
  namespaced: boolean
}

export class ApiClient {
  readonly #server: string
  readonly #agent: Agent
  #resources: Resource[] = []

  constructor({ server, ca, certificate, key }: ApiClientOptions) {
    this.#server = server
    this.#agent = new Agent({ connect: { ca, cert: certificate, key } })
  }

  // Any status is an answer here; the methods below throw ApiError for those that are not a success.
  async request(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<ApiResponse> {
    return this.#send(method, path, { accept: 'application/json', 'content-type': contentType }, body)
  }

  async expect(method: string, path: string, body?: unknown, contentType?: string): Promise<unknown> {
    const response = await this.request(method, path, body, contentType)
    if (response.status >= 300) throw new ApiError(method, path, response)
    return response.body
  }

  // `resource` as for kubectl: plural, singular, kind or short name, with `.group` where that is ambiguous.
  async get(resource: string, name: string, namespace?: string): Promise<KubeObject | undefined> {
    const path = `${await this.collection(resource, namespace)}/${name}`
    const response = await this.request('GET', path)
    if (response.status === 404) return undefined
    if (response.status >= 300) throw new ApiError('GET', path, response)
    return response.body as KubeObject
  }

  async list(resource: string, namespace?: string): Promise<KubeObject[]> {
    const body = await this.expect('GET', await this.collection(resource, namespace))
    return (body as { items: KubeObject[] }).items
  }

  // Reports all objects, and then each change, in all namespaces. The server ends a watch after a while, or if its reader is too slow.
  async watch(resource: string, seen: (event: WatchEvent) => void): Promise<Watch> {
    const path = await this.collection(resource)
    const aborter = new AbortController()
    let version = 0
    const open = async () => {
      const from = version > 0 ? `&resourceVersion=${version}` : ''
      const { statusCode, body } = await httpRequest(`${this.#server}${path}?watch=true${from}`, {
        dispatcher: this.#agent,
        signal: aborter.signal,
        bodyTimeout: 0,
      })
      if (statusCode !== 200) throw new Error(`watch ${path}: ${statusCode} ${await body.text()}`)
      return body.setEncoding('utf8')
    }
    const take = (event: WatchEvent | { type: 'ERROR'; object: unknown }) => {
      if (event.type === 'ERROR') throw new Error(`watch ${path}: ${JSON.stringify(event.object)}`)
      version = Math.max(version, Number(event.object.metadata['resourceVersion']))
      seen(event)
    }
    const first = await open()
    const follow = async () => {
      for (let body = first; ; body = await open()) {
        let rest = ''
        for await (const piece of body) {
          const lines = (rest + piece).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) take(JSON.parse(line))
        }
      }
    }
    const ended = follow().catch((error: unknown) => (aborter.signal.aborted ? undefined : error))
    return {
      stop: async () => {
        aborter.abort()
        const error = await ended
        if (error !== undefined) throw error
      },
    }
  }

  async apply(object: KubeObject): Promise<KubeObject> {
    const gvk = `${object.apiVersion}/${object.kind}`
    // A kind whose CustomResourceDefinition was created a moment ago appears in discovery a little later.
    const resource = await eventually(`${gvk} is served`, () => this.#find((candidate) => candidate.gvk === gvk))
    const collection = pathOf(resource, object.metadata.namespace ?? 'default')
    const path = `${collection}/${object.metadata.name}?fieldManager=e2e&force=true`
    return (await this.expect('PATCH', path, object, 'application/apply-patch+yaml')) as KubeObject
  }

  async collection(resource: string, namespace?: string): Promise<string> {
    const wanted = resource.toLowerCase()
    const found = await this.#find((candidate) => candidate.names.has(wanted))
    if (!found) throw new Error(`the server has no resource ${resource}`)
    return pathOf(found, namespace)
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #find(matches: (candidate: Resource) => boolean): Promise<Resource | undefined> {
    const known = this.#resources.find(matches)
    if (known) return known
    const [core, groups] = await Promise.all([this.#discover('/api'), this.#discover('/apis')])
    this.#resources = [...core, ...groups]
    return this.#resources.find(matches)
  }

  async #discover(path: string): Promise<Resource[]> {
    const response = await this.#send('GET', path, { accept: aggregatedDiscovery })
    if (response.status >= 300) throw new ApiError('GET', path, response)
    return resourcesOf(response.body as GroupDiscoveryList)
  }

  // An API server that has just started answers 429 while it reads its storage. client-go waits and tries again, and so does this client.
  async #send(method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<ApiResponse> {
    for (let attempt = 1; ; attempt++) {
      const response = await httpRequest(`${this.#server}${path}`, {
        method,
        headers,
        dispatcher: this.#agent,
        body: body === undefined ? null : JSON.stringify(body),
      })
      const text = await response.body.text()
      if (response.statusCode !== 429 || attempt === MAX_ATTEMPTS)
        return { status: response.statusCode, body: parse(text) }
      await sleep(1000 * Number(response.headers['retry-after'] ?? 1))
    }
  }
}

interface GroupDiscoveryList {
  items: {
    metadata?: { name?: string }
    versions: {
      version: string
      resources?: {
        resource: string
        scope: 'Namespaced' | 'Cluster'
        singularResource?: string
        shortNames?: string[]
        responseKind?: { kind: string }
      }[]
    }[]
  }[]
}

function resourcesOf(list: GroupDiscoveryList): Resource[] {
  return list.items.flatMap((group) => {
    const name = group.metadata?.name ?? ''
    return group.versions.flatMap(({ version, resources = [] }) =>
      resources.map((entry) => {
        const kind = entry.responseKind?.kind ?? ''
        const short = [entry.resource, entry.singularResource ?? '', kind, ...(entry.shortNames ?? [])]
          .filter((alias) => alias !== '')
          .map((alias) => alias.toLowerCase())
        return {
          root: name === '' ? `/api/${version}` : `/apis/${name}/${version}`,
          plural: entry.resource,
          names: new Set(name === '' ? short : [...short, ...short.map((alias) => `${alias}.${name}`)]),
          gvk: name === '' ? `${version}/${kind}` : `${name}/${version}/${kind}`,
          namespaced: entry.scope === 'Namespaced',
        }
      }),
    )
  })
}

function pathOf({ root, plural, namespaced }: Resource, namespace: string | undefined): string {
  return namespaced && namespace !== undefined ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Health endpoints and some refusals answer in plain text.
    return text
  }
}
