// Issues the certificates of the test control plane from its own authority, and writes kubeconfig files with them.
import { generateKeyPair as generateKeyPairCallback, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import forge from 'node-forge'
import { stringify } from 'yaml'

const generateKeyPair = promisify(generateKeyPairCallback)
const hourMs = 3_600_000
const defaultValidMs = 30 * 24 * hourMs

export interface KeyAndCertificate {
  key: string
  certificate: string
  keyFile: string
  certificateFile: string
}

interface CertificateRequest {
  // Also the stem of the two files.
  name: string
  commonName: string
  organizations?: string[]
  dnsNames?: string[]
  ipAddresses?: string[]
  // From now; default 30 days, so that no credentials are about to end.
  validMs?: number
}

export interface Pki {
  readonly caFile: string
  readonly caCertificate: string
  readonly caBundle: string
  readonly serviceAccountKeyFile: string
  issue(request: CertificateRequest): Promise<KeyAndCertificate>
  issueUser(user: string, groups: string[], validMs?: number): Promise<KeyAndCertificate>
  // Returns the path of the kubeconfig file.
  writeKubeconfig(server: string, user: string, client: KeyAndCertificate): Promise<string>
}

export async function createPki(dir: string): Promise<Pki> {
  const [ca, serviceAccount] = await Promise.all([generateKey(), generateKey()])
  const caSubject = [{ name: 'commonName', value: 'lodestone-e2e' }]
  const caCertificate = sign(
    { publicKey: ca.publicKey, subject: caSubject, issuer: caSubject, signer: ca.key, validMs: defaultValidMs },
    [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, digitalSignature: true, critical: true },
      { name: 'subjectKeyIdentifier' },
    ],
  )
  const caFile = join(dir, 'ca.crt')
  const serviceAccountKeyFile = join(dir, 'service-account.key')
  await Promise.all([writeFile(caFile, caCertificate), writePrivate(serviceAccountKeyFile, serviceAccount.key)])

  async function issue(request: CertificateRequest): Promise<KeyAndCertificate> {
    const { key, publicKey } = await generateKey()
    const organizations = (request.organizations ?? []).map((value) => ({ name: 'organizationName', value }))
    const certificate = sign(
      {
        publicKey,
        subject: [...organizations, { name: 'commonName', value: request.commonName }],
        issuer: caSubject,
        signer: ca.key,
        validMs: request.validMs ?? defaultValidMs,
      },
      [
        { name: 'basicConstraints', cA: false, critical: true },
        { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
        { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
        ...alternativeNames(request),
      ],
    )
    const keyFile = join(dir, `${request.name}.key`)
    const certificateFile = join(dir, `${request.name}.crt`)
    await Promise.all([writePrivate(keyFile, key), writeFile(certificateFile, certificate)])
    return { key, certificate, keyFile, certificateFile }
  }

  async function issueUser(user: string, groups: string[], validMs = defaultValidMs): Promise<KeyAndCertificate> {
    return issue({ name: `user-${fileName(user)}`, commonName: user, organizations: groups, validMs })
  }

  async function writeKubeconfig(server: string, user: string, client: KeyAndCertificate): Promise<string> {
    const file = join(dir, `${fileName(user)}.kubeconfig`)
    await writePrivate(file, stringify(kubeconfig(server, caCertificate, user, client)))
    return file
  }

  const caBundle = base64(caCertificate)
  return { caFile, caCertificate, caBundle, serviceAccountKeyFile, issue, issueUser, writeKubeconfig }
}

interface Signing {
  publicKey: string
  subject: forge.pki.CertificateField[]
  issuer: forge.pki.CertificateField[]
  signer: string
  validMs: number
}

function sign({ publicKey, subject, issuer, signer, validMs }: Signing, extensions: object[]): string {
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey)
  // A leading 01 keeps the number positive, which Go insists on.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`
  certificate.validity.notBefore = new Date(Date.now() - hourMs)
  certificate.validity.notAfter = new Date(Date.now() + validMs)
  certificate.setSubject(subject)
  certificate.setIssuer(issuer)
  certificate.setExtensions(extensions)
  certificate.sign(forge.pki.privateKeyFromPem(signer), forge.md.sha256.create())
  return forge.pki.certificateToPem(certificate)
}

function alternativeNames({ dnsNames = [], ipAddresses = [] }: CertificateRequest): object[] {
  if (dnsNames.length + ipAddresses.length === 0) return []
  const altNames = [...dnsNames.map((value) => ({ type: 2, value })), ...ipAddresses.map((ip) => ({ type: 7, ip }))]
  return [{ name: 'subjectAltName', altNames }]
}

function kubeconfig(server: string, caCertificate: string, user: string, client: KeyAndCertificate): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'e2e',
    contexts: [{ name: 'e2e', context: { cluster: 'e2e', user } }],
    clusters: [{ name: 'e2e', cluster: { server, 'certificate-authority-data': base64(caCertificate) } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) },
      },
    ],
  }
}

// Made by Node rather than by forge, whose RSA generation in plain JavaScript takes seconds.
async function generateKey(): Promise<{ key: string; publicKey: string }> {
  const { privateKey, publicKey } = await generateKeyPair('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  return { key: privateKey, publicKey }
}

async function writePrivate(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600 })
}

// User names such as system:serviceaccount:default:app are no file names.
function fileName(user: string): string {
  return user.replaceAll(/[^a-zA-Z0-9.-]/g, '-')
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
