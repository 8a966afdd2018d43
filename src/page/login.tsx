/** The form to log in to a page in a cluster, with a token of the API server. */
import { useEffect, useState } from 'preact/hooks'
import { LOGIN_NEEDED, logIn, logOut } from './api.ts'

/** Whether the server wants a login before it answers. */
export function useLoginNeeded(): boolean {
  const [isNeeded, setNeeded] = useState(false)
  useEffect(() => {
    const show = () => setNeeded(true)
    addEventListener(LOGIN_NEEDED, show)
    return () => removeEventListener(LOGIN_NEEDED, show)
  }, [])
  return isNeeded
}

export function Login() {
  const [problem, setProblem] = useState<string>()
  const [isSending, setSending] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setSending(true)
    const form = new FormData(event.currentTarget as HTMLFormElement)
    try {
      await logIn(String(form.get('token')))
      // Every view begins again, at the same address.
      location.reload()
    } catch (error) {
      setProblem((error as Error).message)
      setSending(false)
    }
  }
  return (
    <main class="login">
      <h1>Lodestone</h1>
      <p>Log in with a token of the API server. You see what it allows you to list.</p>
      <form onSubmit={submit}>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" required autofocus />
        <button type="submit" disabled={isSending}>
          Log in
        </button>
      </form>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="quiet">
        For a ServiceAccount: <code>kubectl create token NAME</code>
      </p>
    </main>
  )
}

export function User({ name }: { name: string }) {
  const leave = async () => {
    await logOut()
    location.reload()
  }
  return (
    <p class="user">
      <span title={name}>{name}</span>
      <button type="button" onClick={leave}>
        Log out
      </button>
    </p>
  )
}
