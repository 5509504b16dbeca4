export default function About() {
  return <article><h1>About</h1><p>The museum is open from nine to five, and closed on the last Monday of every month.</p></article>
}
