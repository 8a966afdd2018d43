/** Signs requests as AWS wants them (Signature Version 4); the hashing is given, since it needs the platform. */
import { encodeStrictly } from './address.ts'

export interface Digest {
  /** In hexadecimal. */
  sha256(text: string): string
  hmac(key: string | Uint8Array, text: string): Uint8Array
  /** HMACs by one key, in hexadecimal. A platform may have to prepare the key, which it does once here. */
  hmacsBy(key: Uint8Array): (text: string) => string
}

export interface AccessKeys {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

export interface SigningScope {
  region: string
  service: string
}

interface RequestToSign {
  method: string
  host: string
  /** As it is sent. */
  path: string
  query: Iterable<readonly [string, string]>
  /** SHA-256 of the body, in hexadecimal. */
  bodyHash: string
  /** AWS wants every `x-amz-` header signed. Other headers are left unsigned, since proxies may change them. */
  amzHeaders?: Readonly<Record<string, string>>
}

/**
 * Gives the headers that sign a request at a time (ms since 1970), those that it was given to sign among them.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export type Signer = (request: RequestToSign, keys: AccessKeys, now: number) => Record<string, string>

/** Signs for a region and service. */
export function createSigner({ region, service }: SigningScope, digest: Digest): Signer {
  // To derive a key takes four times the work of a signature. The last one is kept: until the day or the secret is another.
  let kept: { secret: string; day: string; sign: (text: string) => string } | undefined
  const signsOf = (secret: string, day: string) => {
    if (kept?.secret !== secret || kept.day !== day) {
      const key = digest.hmac(`AWS4${secret}`, day)
      kept = { secret, day, sign: digest.hmacsBy([region, service, 'aws4_request'].reduce(digest.hmac, key)) }
    }
    return kept.sign
  }

  return ({ method, host, path, query, bodyHash, amzHeaders = {} }, keys, now) => {
    const { accessKeyId, secretAccessKey, sessionToken } = keys
    const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = time.slice(0, 8)
    const headers: Record<string, string> = {
      ...amzHeaders,
      host,
      ...(service === 's3' && { 'x-amz-content-sha256': bodyHash }),
      'x-amz-date': time,
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
    }
    const names = Object.keys(headers).sort()
    const canonical = [
      method,
      canonicalPath(path, service),
      canonicalQuery(query),
      ...names.map((name) => `${name}:${headers[name]}`),
      '',
      names.join(';'),
      bodyHash,
    ].join('\n')
    const scope = `${day}/${region}/${service}/aws4_request`
    const toSign = ['AWS4-HMAC-SHA256', time, scope, digest.sha256(canonical)].join('\n')
    const signature = signsOf(secretAccessKey, day)(toSign)
    const credential = `${accessKeyId}/${scope}`
    return {
      ...headers,
      authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
    }
  }
}

/** S3 signs the path as it is sent; every other service encodes it once more. */
function canonicalPath(path: string, service: string): string {
  return path
    .split('/')
    .map((segment) => {
      const strict = encodeStrictly(decodeURIComponent(segment))
      return service === 's3' ? strict : encodeStrictly(strict)
    })
    .join('/')
}

function canonicalQuery(parameters: Iterable<readonly [string, string]>): string {
  return [...parameters]
    .map(([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`)
    .sort()
    .join('&')
}
