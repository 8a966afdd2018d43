// A real HDFS with WebHDFS on 127.0.0.1: Hadoop's MiniDFSCluster, by default with two name nodes of which one is active.
import { request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { javaArgs, launchPeer, mavenArgs, type Peer, type PeerOptions } from './peer-process.ts'
import { requireRuntime } from './runtimes.ts'

const user = 'lodestone'

export interface HdfsOptions extends PeerOptions {
  nameNodes?: 1 | 2
}

export interface Hdfs extends Peer {
  // One per name node, without /webhdfs/v1; after a start the first one is active.
  readonly urls: string[]
  mkdirs(path: string): Promise<void>
  writeFile(path: string, bytes: Uint8Array | string): Promise<void>
  // With everything below.
  delete(path: string): Promise<void>
  // The active name node becomes standby and the other one active. The answer is the address of the new active one.
  failover(): Promise<string>
}

export async function startHdfs(dir: string, options: HdfsOptions = {}): Promise<Hdfs> {
  const name = options.name ?? 'hdfs'
  await requireRuntime('hdfs', 'java')
  const program = await ensureHdfs()
  const [controlPort = 0, ...ports] = await freePorts(1 + (options.nameNodes ?? 2))
  const control = `http://127.0.0.1:${controlPort}`
  const urls = ports.map((port) => `http://127.0.0.1:${port}`)
  const home = join(dir, name)
  const peer = await launchPeer({
    name,
    dir,
    command: 'java',
    args: [...javaArgs(program, 'HdfsServer', home, 512), ...[home, controlPort, ...ports].map(String)],
    // The control port is the last to open.
    ready: async () => (await send('GET', `${control}/active`)).status === 200,
  })
  const onActive = async (method: Method, path: string, query: string) => {
    const { body } = await expectOk('GET', `${control}/active`)
    const url = urls[Number(body)] ?? ''
    return expectOk(
      method,
      `${url}/webhdfs/v1${path.split('/').map(encodeURIComponent).join('/')}?user.name=${user}&${query}`,
    )
  }
  return Object.assign(peer, {
    urls,
    mkdirs: async (path: string) => void (await onActive('PUT', path, 'op=MKDIRS')),
    writeFile: async (path: string, bytes: Uint8Array | string) => {
      // The name node answers with the data node to send the bytes to.
      const { body } = await onActive('PUT', path, 'op=CREATE&overwrite=true&noredirect=true')
      await expectOk('PUT', (JSON.parse(body) as { Location: string }).Location, Buffer.from(bytes))
    },
    delete: async (path: string) => void (await onActive('DELETE', path, 'op=DELETE&recursive=true')),
    failover: async () => urls[Number((await expectOk('POST', `${control}/failover`)).body)] ?? '',
  })
}

function ensureHdfs(): Promise<string> {
  return builtOnce({
    peer: 'hdfs',
    what: 'the HDFS mini cluster (105 MB of libraries)',
    runtime: 'mvn',
    args: mavenArgs,
  })
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

interface Answer {
  status: number
  body: string
}

async function expectOk(method: Method, url: string, bytes?: Uint8Array): Promise<Answer> {
  const answer = await send(method, url, bytes)
  if (answer.status >= 300) throw new Error(`HDFS ${method} ${url} answers ${answer.status}: ${answer.body}`)
  return answer
}

// Not undici: a data node says "100 Continue" without having been asked, and undici takes that for an error.
function send(method: Method, url: string, bytes?: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    sent.once('error', reject).end(bytes)
  })
}

// `node test/e2e/peers/hdfs.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureHdfs())
