import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { LocationProvider, Router, Route, lazy } from 'preact-iso'

const About = lazy(() => import('./about.jsx'))

function useJson(path) {
  const [found, setFound] = useState(null)
  useEffect(() => {
    setFound(null)
    fetch(path).then((answer) => answer.json()).then(setFound)
  }, [path])
  return found
}

function Rooms() {
  const rooms = useJson('/api/rooms.json')
  if (!rooms) return <p>Loading…</p>
  return <ul>{rooms.map((room) => <li><a href={`/rooms/${room.id}`}>{room.name}</a></li>)}</ul>
}

function Room({ id }) {
  const room = useJson(`/api/rooms/${id}.json`)
  if (!room) return <p>Loading…</p>
  return <article><h1>{room.name}</h1><p>{room.text}</p><a href={`/rooms/${room.next}`}>Next room</a></article>
}

function App() {
  return (
    <LocationProvider>
      <nav><a href="/">Rooms</a> <a href="/about">About</a></nav>
      <Router>
        <Route path="/" component={Rooms} />
        <Route path="/rooms/:id" component={Room} />
        <Route path="/about" component={About} />
      </Router>
    </LocationProvider>
  )
}

render(<App />, document.getElementById('app'))
